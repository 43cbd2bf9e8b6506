-- Retention: what has ended so long ago that nobody keeps it. Investigations go by their own age, as a delete takes them
-- (0016: a tombstone, then the purge by the retention role); posts by theirs; an episode, with its alerts and what is
-- left of the tombstones, once all of its investigations and the posts that counted them are gone. Each function
-- removes a bounded amount and skips what lives. `store/retention.py` calls these.

create table retention_pass (
  only_one boolean primary key default true check (only_one),
  began_at timestamptz not null
);
create index investigation_ended on investigation (workspace, ended_at) where ended_at is not null;
create index intake_receipt_of_body on intake_receipt (workspace, body_digest);
create index episode_ended on episode (workspace, ended_at) where ended_at is not null;
create index alert_of_nothing on alert (workspace, last_seen) where episode_id is null and not heartbeat;

-- Whether a pass is the caller's to do: of all workers one, once in `p_every_s`.
create function begin_retention(p_every_s int) returns boolean
language plpgsql set search_path = inquest, pg_temp as $$
begin
  insert into retention_pass as p (began_at) values (clock_timestamp())
  on conflict (only_one) do update set began_at = excluded.began_at
  where p.began_at <= clock_timestamp() - make_interval(secs => p_every_s);
  return found;
end $$;

-- Those that may be buried: ended that long ago, of an episode that is over and in which nothing goes on.
create function old_investigations(p_workspace text, p_age interval, p_most int) returns setof text
language sql stable set search_path = inquest, pg_temp as $$
  select i.investigation_id from investigation i join episode e using (episode_id)
  where i.workspace = p_workspace and i.ended_at <= clock_timestamp() - p_age
    and i.status in ('succeeded', 'failed', 'cancelled') and e.ended_at is not null and can_purge()
    and not exists (select from investigation o where o.episode_id = i.episode_id and o.ended_at is null)
  order by i.ended_at limit p_most
$$;

-- Removes posts, and the bytes that no other post has. Not those of an investigation that goes on. What such a post
-- opened is counted nowhere any more, so that the accounting equation holds for what is left.
create function remove_receipts(p_workspace text, p_age interval, p_most int, out receipts int, out bodies int)
language plpgsql set search_path = inquest, pg_temp as $$
declare
  old intake_receipt[];
  digests text[];
begin
  old := array(
    select r from intake_receipt r
    where r.workspace = p_workspace and r.received_at <= clock_timestamp() - p_age and not exists (
      select from investigation i where i.investigation_id = any (r.investigation_ids) and i.ended_at is null)
    order by r.received_at limit p_most for update skip locked);
  receipts := cardinality(old);
  update investigation i set counted_as = ''
  from unnest(old) r
  where i.investigation_id = any (r.investigation_ids) and i.receipt_id = r.receipt_id and i.counted_as <> '';
  delete from intake_receipt x where x.receipt_id in (select r.receipt_id from unnest(old) r);
  digests := array(select distinct r.body_digest from unnest(old) r);
  bodies := remove_bodies(p_workspace, digests, false);
end $$;

-- An episode's rows: its group's row is held, as by whoever takes alerts in. Gives how many alerts it had; null when
-- it is not to be removed.
create function remove_episode(p_episode text, p_age interval) returns int
language plpgsql set search_path = inquest, pg_temp as $$
declare
  e episode;
  alerts int;
begin
  perform from alert_group g join episode x using (workspace, group_key) where x.episode_id = p_episode for update of g;
  select * into e from episode x where x.episode_id = p_episode for update;
  if not found or not is_forgettable(e, p_age) then
    return null;
  end if;
  delete from thread_root r where r.episode_id = p_episode;
  delete from investigation i where i.episode_id = p_episode;
  delete from alert a where a.episode_id = p_episode;
  get diagnostics alerts = row_count;
  delete from episode x where x.episode_id = p_episode;
  update alert_group g set episode_id = null where g.workspace = e.workspace and g.episode_id = p_episode;
  delete from alert_group g
  where g.workspace = e.workspace and g.group_key = e.group_key and not exists (
    select from episode x where x.workspace = g.workspace and x.group_key = g.group_key);
  return alerts;
end $$;

-- Whether it ended that long ago, and nothing is left of its investigations but tombstones that no post counts.
create function is_forgettable(e episode, p_age interval) returns boolean
language sql stable as $$
  select coalesce(e.ended_at <= clock_timestamp() - p_age, false) and not exists (
    select from investigation i where i.episode_id = e.episode_id
      and (i.purged_at is null or i.counted_as <> ''))
$$;

create function old_episodes(p_workspace text, p_age interval, p_most int) returns setof text
language sql stable set search_path = inquest, pg_temp as $$
  select e.episode_id from episode e
  where e.workspace = p_workspace and e.ended_at <= clock_timestamp() - p_age and is_forgettable(e, p_age)
  order by e.ended_at limit p_most
$$;

-- Resolves that never fired here belong to no episode. Heartbeats stay: by them a Watchdog is known to be missing.
create function remove_loose_alerts(p_workspace text, p_age interval, p_most int) returns int
language plpgsql set search_path = inquest, pg_temp as $$
declare
  removed int;
begin
  delete from alert a where a.alert_id in (
    select x.alert_id from alert x
    where x.workspace = p_workspace and x.episode_id is null and not x.heartbeat
      and x.last_seen <= clock_timestamp() - p_age
    limit p_most for update skip locked);
  get diagnostics removed = row_count;
  return removed;
end $$;
