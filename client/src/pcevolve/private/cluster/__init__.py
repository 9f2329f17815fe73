"""Private images on Ray: the owner's cluster, or one on loopback that the run starts and ends itself.

The only package that knows Ray, which is loaded when a run asks for it. What goes through the cluster is paths,
digests, embeddings and votes without noise; noise is drawn in the process that pays. Who can see what there is in
docs/first-run.md ("Large folders").

``engine.run_jobs`` has whole runs on public images carried out, for tables.
"""

from __future__ import annotations

from pcevolve.private.cluster.engine import RayEngine

__all__ = ["RayEngine"]
