"""Tables, migrations, one repository per noun, and the way to be told of new rows."""
