------------------------------ MODULE Fencing ------------------------------
(***************************************************************************)
(* One session, and the frontends that its client connects to. A connect   *)
(* raises the session's epoch by compare-and-set; everything an owner      *)
(* sends carries its epoch. A frontend with an expired lease is declared   *)
(* gone by its incarnation, though it may be alive and only slow; it       *)
(* comes back with the next incarnation.                                   *)
(*                                                                         *)
(* There are no messages: anything that could have been sent at any time   *)
(* may arrive now, any number of times or never. That models any network.  *)
(***************************************************************************)
EXTENDS Naturals

CONSTANTS
  Frontends,
  EpochMax,
  IncarnationMax,
  ChecksEpoch,       \* FALSE: a mutant that applies messages of an old owner
  ChecksIncarnation  \* FALSE: a mutant that takes "gone" for every incarnation of a frontend

VARIABLES
  session,      \* the owner: frontend, its incarnation, epoch; frontend "none" without an owner
  incarnation,  \* of each frontend
  gone,         \* of each frontend: the last incarnation declared gone, as applied by the range
  granted,      \* every ownership so far: each owner may have sent something
  wrong         \* violations that have happened

vars == <<session, incarnation, gone, granted, wrong>>

None == "none"

Init ==
  /\ session = [frontend |-> None, incarnation |-> 0, epoch |-> 0]
  /\ incarnation = [f \in Frontends |-> 1]
  /\ gone = [f \in Frontends |-> 0]
  /\ granted = {}
  /\ wrong = {}

(* A client connects. The command compares the epoch that was read: only one of two simultaneous connects wins. *)
Connect(f, i, read) ==
  /\ session.epoch < EpochMax
  /\ read = session.epoch
  /\ i > gone[f]
  /\ session' = [frontend |-> f, incarnation |-> i, epoch |-> read + 1]
  /\ granted' = granted \cup {session'}
  /\ UNCHANGED <<incarnation, gone, wrong>>

(* Something arrives from the current or a former owner of the session. *)
Act(owner) ==
  /\ ChecksEpoch => owner.epoch = session.epoch
  /\ wrong' = IF owner = session THEN wrong ELSE wrong \cup {"an old owner acted"}
  /\ UNCHANGED <<session, incarnation, gone, granted>>

(* A frontend restarts, or learns that its lease has expired: its new incarnation owns nothing. *)
Restart(f) ==
  /\ incarnation[f] < IncarnationMax
  /\ incarnation' = [incarnation EXCEPT ![f] = @ + 1]
  /\ UNCHANGED <<session, gone, granted, wrong>>

(* The lease of some incarnation of a frontend has expired. That incarnation may still be alive. *)
Gone(f, i) ==
  /\ gone' = [gone EXCEPT ![f] = IF i > @ THEN i ELSE @]
  /\ LET meant == session.incarnation <= i
         cleared == session.frontend = f /\ session.epoch < EpochMax /\ (ChecksIncarnation => meant)
     IN /\ session' = IF cleared THEN [frontend |-> None, incarnation |-> 0, epoch |-> session.epoch + 1] ELSE session
        /\ wrong' = IF cleared /\ ~meant THEN wrong \cup {"a living owner was removed"} ELSE wrong
  /\ session.frontend = f => session.epoch < EpochMax \* the model ends there
  /\ UNCHANGED <<incarnation, granted>>

Next ==
  \/ \E f \in Frontends : Restart(f)
  \/ \E f \in Frontends : \E i \in 1..incarnation[f] : Gone(f, i) \/ \E read \in 0..EpochMax : Connect(f, i, read)
  \/ \E owner \in granted : Act(owner)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
NothingWrong == wrong = {}

(* An incarnation that was declared gone does not own the session. *)
OwnersAreNotGone == session.frontend = None \/ session.incarnation > gone[session.frontend]

(* No epoch has two owners. *)
OneOwner == \A one, other \in granted : one.epoch = other.epoch => one = other
=============================================================================
