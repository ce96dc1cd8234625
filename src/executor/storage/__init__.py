"""Tables, migrations, one repository per noun, and notices of new rows."""
