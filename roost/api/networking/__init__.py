"""What users may connect their servers to: the API's side of the network drivers."""
