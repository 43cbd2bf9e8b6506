-- An investigation that turns out to be noise closes what its `received` revision opened at a destination.

alter table delivery drop constraint delivery_kind_check;
alter table delivery add constraint delivery_kind_check check (kind in
  ('received', 'progress', 'question', 'report', 'members', 'failed', 'cancelled', 'resolved', 'noise'));
