------------------------------- MODULE Split -------------------------------
(***************************************************************************)
(* A range is split while its replicas crash and writers have old maps.    *)
(* Both logs are lists of committed entries, as Raft provides them. The    *)
(* model has the store's part: the fence where an entry is applied, the    *)
(* child that each replica makes from its own rows, and the state that     *)
(* survives a crash.                                                       *)
(*                                                                         *)
(* Odd writes belong to the upper half. Two entries may ask for the same   *)
(* split, as a retry does. RangeFence and SplitSteps are the code.         *)
(***************************************************************************)
EXTENDS Naturals, Sequences

CONSTANTS
  Replicas,
  Writes,       \* identifiers of writes, each sent at most once
  ChecksEpoch,  \* FALSE: a mutant whose fence admits all writes
  KeepsChild    \* FALSE: a mutant that makes the child a second time when the split is applied again

VARIABLES
  plog, clog,   \* the parent's and the child's log
  rep,          \* of each replica: its applied state of the parent
  durable,      \* the part of that state that survives a crash
  child,        \* of each replica: its rows of the child, durable at once; <<>> before the split
  sent, acked,
  strangers     \* writes that were applied in a different epoch

vars == <<plog, clog, rep, durable, child, sent, acked, strangers>>

Upper == {w \in Writes : w % 2 = 1}
Fresh == [applied |-> 0, rows |-> {}, epoch |-> 1, halfway |-> FALSE]

Init ==
  /\ plog = <<>> /\ clog = <<>>
  /\ rep = [r \in Replicas |-> Fresh]
  /\ durable = [r \in Replicas |-> Fresh]
  /\ child = [r \in Replicas |-> <<>>]
  /\ sent = {} /\ acked = {} /\ strangers = {}

Splits == {i \in 1..Len(plog) : plog[i].kind = "split"}

-----------------------------------------------------------------------------
(* A writer with the old map may write at any time. *)
WriteByOldMap(w) ==
  /\ w \notin sent
  /\ sent' = sent \cup {w}
  /\ plog' = Append(plog, [kind |-> "write", id |-> w, epoch |-> 1])
  /\ UNCHANGED <<clog, rep, durable, child, acked, strangers>>

(* A writer with the new map writes to the correct half. *)
WriteByNewMap(w) ==
  /\ w \notin sent
  /\ \E r \in Replicas : rep[r].epoch = 2
  /\ sent' = sent \cup {w}
  /\ LET entry == [kind |-> "write", id |-> w, epoch |-> 2]
     IN IF w \in Upper
        THEN clog' = Append(clog, entry) /\ plog' = plog
        ELSE plog' = Append(plog, entry) /\ clog' = clog
  /\ UNCHANGED <<rep, durable, child, acked, strangers>>

ProposeSplit ==
  /\ Len(plog) - Len(SelectSeq(plog, LAMBDA e : e.kind = "write")) < 2
  /\ plog' = Append(plog, [kind |-> "split"])
  /\ UNCHANGED <<clog, rep, durable, child, sent, acked, strangers>>

-----------------------------------------------------------------------------
Next1(r) == plog[rep[r].applied + 1]

Admits(r, entry) ==
  \/ ~ChecksEpoch
  \/ entry.epoch = rep[r].epoch /\ (rep[r].epoch = 2 => entry.id \notin Upper)

ApplyWrite(r) ==
  /\ rep[r].applied < Len(plog)
  /\ Next1(r).kind = "write"
  /\ LET entry == Next1(r)
         in == Admits(r, entry)
     IN /\ rep' = [rep EXCEPT ![r].applied = @ + 1, ![r].rows = IF in THEN @ \cup {entry.id} ELSE @]
        /\ acked' = IF in THEN acked \cup {entry.id} ELSE acked
        /\ strangers' = IF in /\ entry.epoch # rep[r].epoch THEN strangers \cup {entry.id} ELSE strangers
  /\ UNCHANGED <<plog, clog, durable, child, sent>>

(* First the child is written to disk; a crash may follow. *)
MakeChild(r) ==
  /\ rep[r].applied < Len(plog)
  /\ Next1(r).kind = "split" /\ rep[r].epoch = 1 /\ ~rep[r].halfway
  /\ rep' = [rep EXCEPT ![r].halfway = TRUE]
  /\ child' = [child EXCEPT ![r] =
       IF @ = <<>> THEN [applied |-> 0, rows |-> rep[r].rows \cap Upper]
       ELSE IF KeepsChild THEN @
       ELSE [@ EXCEPT !.rows = rep[r].rows \cap Upper]]
  /\ UNCHANGED <<plog, clog, durable, sent, acked, strangers>>

(* Then the parent's rows, its descriptor and its position, in one write that is flushed. *)
Trim(r) ==
  /\ rep[r].halfway
  /\ rep' = [rep EXCEPT ![r] =
       [applied |-> @.applied + 1, rows |-> @.rows \ Upper, epoch |-> 2, halfway |-> FALSE]]
  /\ durable' = [durable EXCEPT ![r] = rep'[r]]
  /\ UNCHANGED <<plog, clog, child, sent, acked, strangers>>

(* A split decided in an old epoch changes nothing. *)
ApplyStaleSplit(r) ==
  /\ rep[r].applied < Len(plog)
  /\ Next1(r).kind = "split" /\ rep[r].epoch = 2
  /\ rep' = [rep EXCEPT ![r].applied = @ + 1]
  /\ UNCHANGED <<plog, clog, durable, child, sent, acked, strangers>>

ApplyChild(r) ==
  /\ child[r] # <<>>
  /\ child[r].applied < Len(clog)
  /\ LET entry == clog[child[r].applied + 1]
     IN /\ child' = [child EXCEPT ![r].applied = @ + 1, ![r].rows = @ \cup {entry.id}]
        /\ acked' = acked \cup {entry.id}
  /\ UNCHANGED <<plog, clog, rep, durable, sent, strangers>>

Flush(r) ==
  /\ ~rep[r].halfway /\ durable[r] # rep[r]
  /\ durable' = [durable EXCEPT ![r] = rep[r]]
  /\ UNCHANGED <<plog, clog, rep, child, sent, acked, strangers>>

Crash(r) ==
  /\ rep[r] # durable[r]
  /\ rep' = [rep EXCEPT ![r] = durable[r]]
  /\ UNCHANGED <<plog, clog, durable, child, sent, acked, strangers>>

Next ==
  \/ \E w \in Writes : WriteByOldMap(w) \/ WriteByNewMap(w)
  \/ ProposeSplit
  \/ \E r \in Replicas :
       ApplyWrite(r) \/ MakeChild(r) \/ Trim(r) \/ ApplyStaleSplit(r) \/ ApplyChild(r) \/ Flush(r) \/ Crash(r)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* No write of an old epoch is applied. *)
OwnEpochOnly == strangers = {}

(* A replica after the split has no rows of the upper half, so no key is served by both ranges. *)
HalvesAreApart == \A r \in Replicas : rep[r].epoch = 2 => rep[r].rows \cap Upper = {}

(* Replicas at the same position of a log have the same rows. *)
ReplicasAgree ==
  \A r, s \in Replicas :
    /\ rep[r].applied = rep[s].applied /\ ~rep[r].halfway /\ ~rep[s].halfway => rep[r].rows = rep[s].rows
    /\ child[r] # <<>> /\ child[s] # <<>> /\ child[r].applied = child[s].applied => child[r].rows = child[s].rows

(* Every acknowledged write is in its half, on each replica that has applied the whole log. *)
NothingIsLost ==
  \A r \in Replicas :
    rep[r].applied = Len(plog) /\ rep[r].epoch = 2 /\ child[r].applied = Len(clog)
      => acked \ Upper \subseteq rep[r].rows /\ acked \cap Upper \subseteq child[r].rows
=============================================================================
