"""What people do at the screens: users, sessions, acknowledgements."""
