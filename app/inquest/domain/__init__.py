"""Values and rules of the domain: frozen, pure, without await, I/O, clock or chance."""
