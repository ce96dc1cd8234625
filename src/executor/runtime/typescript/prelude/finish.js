return [boot, run, refuse, answer, turn, flush, ended, adopt];
