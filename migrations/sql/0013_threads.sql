-- Destinations that speak in threads (ADR 0014). Such a destination has two messages, each a target of its own:
-- NAME#thread, the root, and NAME#report, the reply under it. Each has its own first send, marker, revisions and
-- sender, and all that 0008 says of a target holds for each. What is added is that an episode has one root.

alter table delivery_target
  add column place text not null generated always as (split_part(destination, '#', 1)) stored,
  add column message text not null generated always as (split_part(destination, '#', 2)) stored;

-- The row is the right to send a root. Without a reference: the first send of its target may have arrived, and
-- no other target may begin the thread. With a reference: the thread is there, whoever else speaks is a guest.
-- A thread that a human began (an origin) is a row with a reference and without a target.
alter table thread_root
  alter column reference drop not null,
  add column target_id text,
  add check (reference is not null or target_id is not null);

-- Whether a target has to wait for the root of its thread: a reply until it is there, a root while the first
-- send of another one may be on its way.
create function waits_for_thread(t delivery_target) returns boolean
language plpgsql stable set search_path = inquest, pg_temp as $$
declare
  r thread_root;
begin
  if t.message not in ('thread', 'report') or t.message = 'thread' and t.reference is not null then
    return false;
  end if;
  select x.* into r from thread_root x join investigation i on i.episode_id = x.episode_id
  where i.investigation_id = t.investigation_id and x.destination = t.place;
  return case t.message
    when 'report' then r.reference is null
    else r.episode_id is not null and r.reference is null and r.target_id is distinct from t.target_id end;
end $$;

-- Takes the right to begin the thread, in the transaction that reserves the first send of its root.
create function hold_thread(t delivery_target) returns void
language plpgsql set search_path = inquest, pg_temp as $$
begin
  if t.message <> 'thread' or t.reference is not null then
    return;
  end if;
  insert into thread_root as r (episode_id, destination, target_id)
  select i.episode_id, t.place, t.target_id from investigation i where i.investigation_id = t.investigation_id
  on conflict (episode_id, destination) do update set target_id = excluded.target_id
    where r.target_id = excluded.target_id and r.reference is null;
  if not found then
    raise exception 'another target begins the thread of %', t.target_id using errcode = 'IQF01';
  end if;
end $$;

-- Follows the first send of a root to its end: it is there, and the replies may go; or it is surely not there,
-- and any target may begin the thread. A send that may have arrived keeps the right.
create function settle_thread(t delivery_target, p_state text, p_reference text) returns void
language plpgsql set search_path = inquest, pg_temp as $$
begin
  if t.message <> 'thread' or t.reference is not null then
    return;
  end if;
  if p_state = 'sent' then
    update thread_root r set reference = p_reference where r.target_id = t.target_id and r.reference is null;
    perform ring_target(x.target_id)
    from investigation i
    join investigation o on o.episode_id = i.episode_id
    join delivery_target x on x.investigation_id = o.investigation_id and x.place = t.place
    where i.investigation_id = t.investigation_id and x.target_id <> t.target_id and is_due(x);
  elsif p_state in ('planned', 'failed') then
    delete from thread_root r where r.target_id = t.target_id and r.reference is null;
  end if;
end $$;
