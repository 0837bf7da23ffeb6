"""``roost-rig chaos``: break a rig on purpose, then prove that nothing was lost, doubled or leaked.

=============  ===================================================================================
schedule.py    what breaks when, drawn from a seed
wishes.py      which servers are asked for and deleted when, drawn from a seed
faults.py      how each kind of fault is made and healed
arena.py       the rig, its private services and the ways to them, as faults and storm want it
evacuations.py hosts that die for good, and come back
breaker.py     makes the faults in time, heals each
keeper.py      looks after the daemons: which ended by themselves, how much memory each has
storm.py       the clients; watch.py what they see, answers.py what they were told
inspection.py  waits until nothing is under way any more, and looks at everything
verdict.py     what is lost, doubled, leaked, unexplained: a pure function from what was seen
report.py      the verdict as tables and as JSON
run.py         all of it, in order; command.py the command
=============  ===================================================================================
"""
