"""The privacy budget: mechanisms, accounting, ledger. Knows no images and opens no sockets."""
