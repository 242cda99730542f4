"""What lies in a student's tree beside labs and judge, for the programs that students work with."""
