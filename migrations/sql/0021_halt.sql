-- The kill switch. While a workspace (or '', everything) has a row here, nothing is claimed, reserved or sent in it:
-- `check_not_halted` refuses at each reservation, `next_workspace` and `is_due` pass over what waits. Alerts are taken in.

-- Twice is once: who halted first, and when, stays.
create function halt_work(p_workspace text, p_actor text) returns boolean
language plpgsql set search_path = inquest, pg_temp as $$
begin
  insert into halt (workspace, actor) values (p_workspace, p_actor) on conflict do nothing;
  return found;
end $$;

-- Ends a halt of this name, and rings for the first in each workspace that may run again; the end of each rings for
-- the next one, and the sweep for those that there is room for beside it.
create function resume_work(p_workspace text) returns boolean
language plpgsql set search_path = inquest, pg_temp as $$
declare
  w text;
begin
  delete from halt h where h.workspace = p_workspace;
  if not found then
    return false;
  end if;
  for w in
    select distinct i.workspace from investigation i
    where i.status = 'queued' and p_workspace in (i.workspace, '')
      and not exists (select from halt h where h.workspace in (i.workspace, ''))
    order by i.workspace
  loop
    perform ring_next(w);
  end loop;
  return true;
end $$;
