"""What Compute had before 2.36 to 2.44, for old clients and Tempest. Nothing is added here."""
