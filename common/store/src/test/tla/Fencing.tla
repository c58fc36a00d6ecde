------------------------------ MODULE Fencing ------------------------------
(***************************************************************************)
(* One session, and the frontends that its client connects to. A connect   *)
(* raises the session's epoch by compare and set; whatever an owner sends  *)
(* carries its epoch. A frontend whose lease has run out is declared gone  *)
(* by its incarnation, though it may be alive and only slow; it comes back *)
(* under the next one.                                                     *)
(*                                                                         *)
(* There are no messages: whatever could have been sent at any time may    *)
(* arrive now, any number of times or never. That is every network.        *)
(***************************************************************************)
EXTENDS Naturals

CONSTANTS
  Frontends,
  EpochMax,
  IncarnationMax,
  ChecksEpoch,       \* FALSE: a mutant that applies what an old owner sends
  ChecksIncarnation  \* FALSE: a mutant that takes "gone" for every life of a frontend

VARIABLES
  session,      \* who owns it: frontend, its incarnation, epoch; frontend "none" when nobody does
  incarnation,  \* of each frontend
  gone,         \* of each frontend: up to which incarnation it was declared gone, as the range has applied it
  granted,      \* every ownership that there has been: whoever had one may have sent something
  wrong         \* what must not happen, and has

vars == <<session, incarnation, gone, granted, wrong>>

None == "none"

Init ==
  /\ session = [frontend |-> None, incarnation |-> 0, epoch |-> 0]
  /\ incarnation = [f \in Frontends |-> 1]
  /\ gone = [f \in Frontends |-> 0]
  /\ granted = {}
  /\ wrong = {}

(* A client connects. Applied by comparison with the epoch that was read: of two that connect at once one wins. *)
Connect(f, i, read) ==
  /\ session.epoch < EpochMax
  /\ read = session.epoch
  /\ i > gone[f]
  /\ session' = [frontend |-> f, incarnation |-> i, epoch |-> read + 1]
  /\ granted' = granted \cup {session'}
  /\ UNCHANGED <<incarnation, gone, wrong>>

(* Something arrives from one that owns the session, or did. *)
Act(owner) ==
  /\ ChecksEpoch => owner.epoch = session.epoch
  /\ wrong' = IF owner = session THEN wrong ELSE wrong \cup {"an old owner acted"}
  /\ UNCHANGED <<session, incarnation, gone, granted>>

(* A frontend starts anew, or hears that its lease has run out: another life, which owns nothing. *)
Restart(f) ==
  /\ incarnation[f] < IncarnationMax
  /\ incarnation' = [incarnation EXCEPT ![f] = @ + 1]
  /\ UNCHANGED <<session, gone, granted, wrong>>

(* The lease of some life of a frontend has run out. That life may still be there: nobody can tell. *)
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

(* Nobody owns the session who has been declared gone. *)
OwnersAreNotGone == session.frontend = None \/ session.incarnation > gone[session.frontend]

(* No epoch has had two owners. *)
OneOwner == \A one, other \in granted : one.epoch = other.epoch => one = other
=============================================================================
