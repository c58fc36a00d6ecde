----------------------------- MODULE Exchanges -----------------------------
(***************************************************************************)
(* The QoS 2 exchanges of one durable publisher, whose messages sessions   *)
(* of several ranges want. The range of the publisher's session is home:   *)
(* it records an exchange together with its own copy of the message. All   *)
(* messages have the same packet identifier, one after the other.          *)
(*                                                                         *)
(* Where one process leads all ranges, home records a message last. Where  *)
(* others lead the other ranges, home records it first, and the others get *)
(* it then; what was not delivered to all is delivered again when the      *)
(* client repeats it.                                                      *)
(*                                                                         *)
(* A crash ends the publish or the release that is in progress. What is in *)
(* rows stays. The client connects again and sends what was not answered.  *)
(***************************************************************************)
EXTENDS Naturals

CONSTANTS
  Others,        \* the ranges beside home that want each message
  MessageMax,
  CrashMax,
  RecordsLast,   \* FALSE: home records an exchange before the other ranges get its message
  Redelivers,    \* TRUE: a repeated message of a recorded exchange goes to the other ranges again, unless home knows that they have it
  Remembers,     \* FALSE: a mutant whose other ranges do not remember the exchange
  ForgetsFirst,  \* FALSE: a mutant that releases an exchange before the other ranges have forgotten it
  Late,          \* TRUE: what was on its way to another range at a crash may arrive at any later time
  ChecksEpoch,   \* TRUE: another range refuses messages from an earlier connection than it has heard of
  ChecksForgets  \* TRUE: it refuses commands to forget from such a connection, too

VARIABLES
  message,     \* the message that the client sends or releases; MessageMax + 1 when it is done
  releasing,   \* whether the client has received PUBREC for it
  epoch,       \* of the client's connection; each crash ends one
  doing,       \* "nothing", "appending", "recorded", "forgetting" or "released"
  left,        \* the other ranges that have not answered yet
  recorded,    \* whether home has recorded the exchange
  delivered,   \* whether it has also recorded that all other ranges have the message
  stored,      \* how often each range has stored each message
  remembered,  \* of each other range: whether it remembers the exchange
  heard,       \* of each other range: the latest connection that it has heard of
  late         \* what may arrive late: to which range, which message or command to forget, of which connection

vars == <<message, releasing, epoch, doing, left, recorded, delivered, stored, remembered, heard, late>>

Home == "home"
Ranges == Others \cup {Home}
Messages == 1..MessageMax

Init ==
  /\ message = 1
  /\ releasing = FALSE
  /\ epoch = 1
  /\ doing = "nothing"
  /\ left = {}
  /\ recorded = FALSE
  /\ delivered = FALSE
  /\ stored = [r \in Ranges |-> [m \in Messages |-> 0]]
  /\ remembered = [r \in Others |-> FALSE]
  /\ heard = [r \in Others |-> 0]
  /\ late = {}

Max(a, b) == IF a > b THEN a ELSE b

Store(r, m) == stored' = [stored EXCEPT ![r][m] = @ + 1]

(* The client sends its message, or sends it again. A recorded exchange is answered with PUBREC, once all other ranges have the message. *)
Publish ==
  /\ doing = "nothing" /\ ~releasing /\ message \in Messages
  /\ IF ~recorded THEN doing' = "appending" /\ left' = Others /\ UNCHANGED releasing
     ELSE IF Redelivers /\ ~delivered THEN doing' = "recorded" /\ left' = Others /\ UNCHANGED releasing
     ELSE releasing' = TRUE /\ UNCHANGED <<doing, left>>
  /\ UNCHANGED <<message, epoch, recorded, delivered, stored, remembered, heard, late>>

(* What another range does with a message of a connection. *)
Arrives(r, m, of) ==
  IF (ChecksEpoch /\ of < heard[r]) \/ (Remembers /\ remembered[r])
  THEN UNCHANGED <<stored, remembered, heard>>
  ELSE /\ Store(r, m)
       /\ remembered' = [remembered EXCEPT ![r] = TRUE]
       /\ heard' = [heard EXCEPT ![r] = Max(@, of)]

(* While the message is on its way to the other ranges. *)
Sending == IF RecordsLast THEN "appending" ELSE "recorded"

(* Another range has the message. *)
Append(r) ==
  /\ doing = Sending /\ r \in left
  /\ Arrives(r, message, epoch)
  /\ left' = left \ {r}
  /\ UNCHANGED <<message, releasing, epoch, doing, recorded, delivered, late>>

(* Home stores the message and records the exchange, in one entry. *)
Record ==
  /\ doing = "appending"
  /\ RecordsLast => left = {}
  /\ recorded' = TRUE
  /\ Store(Home, message)
  /\ doing' = "recorded"
  /\ UNCHANGED <<message, releasing, epoch, left, delivered, remembered, heard, late>>

(* PUBREC *)
Received ==
  /\ doing = "recorded" /\ left = {}
  /\ releasing' = TRUE
  /\ doing' = "nothing"
  /\ UNCHANGED <<message, epoch, left, recorded, delivered, stored, remembered, heard, late>>

(* PUBREL, or PUBREL again *)
Release ==
  /\ doing = "nothing" /\ releasing
  /\ doing' = "forgetting"
  /\ left' = Others
  /\ UNCHANGED <<message, releasing, epoch, recorded, delivered, stored, remembered, heard, late>>

(* What another range does with a command to forget of a connection. *)
Forgets(r, of) ==
  IF ChecksForgets /\ of < heard[r]
  THEN UNCHANGED <<remembered, heard>>
  ELSE /\ remembered' = [remembered EXCEPT ![r] = FALSE]
       /\ heard' = [heard EXCEPT ![r] = Max(@, of)]

Forget(r) ==
  /\ doing \in {"forgetting", "released"} /\ r \in left
  /\ Forgets(r, epoch)
  /\ left' = left \ {r}
  /\ UNCHANGED <<message, releasing, epoch, doing, recorded, delivered, stored, late>>

Released ==
  /\ doing = "forgetting"
  /\ ForgetsFirst => left = {}
  /\ recorded' = FALSE
  /\ delivered' = FALSE
  /\ doing' = "released"
  /\ UNCHANGED <<message, releasing, epoch, left, stored, remembered, heard, late>>

(* PUBCOMP: the client goes on with its next message. *)
Complete ==
  /\ doing = "released"
  /\ message' = message + 1
  /\ releasing' = FALSE
  /\ doing' = "nothing"
  /\ left' = {}
  /\ UNCHANGED <<epoch, recorded, delivered, stored, remembered, heard, late>>

(* Whatever was sent in this connection may still be on its way, also what has arrived: it may have been sent twice. *)
OnItsWay ==
  IF doing = Sending THEN {[to |-> r, message |-> message, epoch |-> epoch] : r \in Others}
  ELSE IF doing = "forgetting" THEN {[to |-> r, message |-> 0, epoch |-> epoch] : r \in Others}
  ELSE {}

(* What has ended may have said before that all other ranges have answered. *)
Crash ==
  /\ epoch <= CrashMax
  /\ epoch' = epoch + 1
  /\ doing' = "nothing"
  /\ delivered' \in IF Redelivers /\ doing = "recorded" /\ left = {} THEN {delivered, TRUE} ELSE {delivered}
  /\ left' = {}
  /\ late' = IF Late THEN late \cup OnItsWay ELSE late
  /\ UNCHANGED <<message, releasing, recorded, stored, remembered, heard>>

ArrivesLate(one) ==
  /\ IF one.message = 0
     THEN Forgets(one.to, one.epoch) /\ UNCHANGED stored
     ELSE Arrives(one.to, one.message, one.epoch)
  /\ late' = late \ {one}
  /\ UNCHANGED <<message, releasing, epoch, doing, left, recorded, delivered>>

Next ==
  \/ Publish \/ Record \/ Received \/ Release \/ Released \/ Complete \/ Crash
  \/ \E r \in Others : Append(r) \/ Forget(r)
  \/ \E one \in late : ArrivesLate(one)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* No range stores a message twice. *)
AtMostOnce == \A r \in Ranges, m \in Messages : stored[r][m] <= 1

(* What the client has received PUBREC for is stored in all ranges. *)
AtLeastOnce == \A r \in Ranges, m \in Messages : m < message \/ (m = message /\ releasing) => stored[r][m] >= 1
=============================================================================
