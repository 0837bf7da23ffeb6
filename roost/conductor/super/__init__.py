"""What super-conductors do: they place requests, and read the API's database."""
