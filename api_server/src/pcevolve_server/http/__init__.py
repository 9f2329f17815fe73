"""HTTP in the style of getimg's API and of OpenAI's: connections, bodies, routes and answers."""
