"""Who answers: models over the network, and the built-in responder that needs none."""
