-- Which members begin an episode, when its investigation may start, and what begins with it.

create function highest_severity_rank() returns int language sql immutable as $$ -- as in domain/alert.py
  select 4
$$;

create function admission_times(p_rules intake_rules, p_now timestamptz, p_ranks int[]) returns timestamptz[]
language plpgsql as $$
-- When the next investigations of the intake, of these severities, may start. Of each severity, and of those
-- above it, at most max_new_per_hour in any hour: one starts an hour after the one that came max_new_per_hour
-- before it, or now. What is less severe takes no slot from it: a critical alert does not wait behind warnings.
-- Reads at most max_new_per_hour rows of each severity; puts them in order only where the hour is nearly full.
declare
  v_taken timestamptz[] := '{}';
  v_times timestamptz[] := array_fill(null::timestamptz, array[cardinality(p_ranks)]);
  v_rank int := greatest(highest_severity_rank(), (select max(r) from unnest(p_ranks) r));
  v_least int := (select min(r) from unnest(p_ranks) r);
  v_at int;
begin
  if (select count(*) from (
      select from investigation
      where workspace = p_rules.workspace and intake = p_rules.intake and intake <> ''
        and severity_rank = any (array(select generate_series(v_least, v_rank))) and admitted_at > p_now - interval '1 hour'
      limit p_rules.max_new_per_hour) taken) + cardinality(p_ranks) <= p_rules.max_new_per_hour
  then
    return array_fill(p_now, array[cardinality(p_ranks)]);
  end if;
  while v_rank >= v_least loop
    v_taken := array(
      select t from (
        select t from unnest(v_taken || array(
          select admitted_at from investigation
          where workspace = p_rules.workspace and intake = p_rules.intake and intake <> ''
            and severity_rank = v_rank and admitted_at > p_now - interval '1 hour'
            and not (status = 'cancelled' and started_at is null)
          order by admitted_at desc limit p_rules.max_new_per_hour)) t
        order by t desc limit p_rules.max_new_per_hour) latest
      order by t);
    for v_at in select at from unnest(p_ranks) with ordinality u (severity_rank, at)
      where u.severity_rank = v_rank order by at
    loop
      v_times[v_at] := case when cardinality(v_taken) < p_rules.max_new_per_hour then p_now
        else greatest(p_now, v_taken[cardinality(v_taken) - p_rules.max_new_per_hour + 1] + interval '1 hour') end;
      v_taken := v_taken || v_times[v_at];
    end loop;
    v_rank := v_rank - 1;
  end loop;
  return v_times;
end $$;

create function daily_ceiling(p_rules intake_rules) returns timestamptz language sql stable as $$
-- The next midnight UTC when today's dollars are spent, the workspace's or all of them, else null.
  select coalesce(day_spent(p_rules.workspace, p_rules.workspace_usd_micros),
    day_spent('', p_rules.installation_usd_micros))
$$;

create function plan_openings(p_rules intake_rules, p_members posted[], p_now timestamptz) returns opening[]
language plpgsql as $$
-- Decide for each group of these members (they fire, and no row says so) whether its next episode begins now:
-- when none lives; or when the investigation of the living one ended a cooldown ago and a member brings a new
-- alertname or a higher severity than the episode had.
declare
  v_group record;
  v_first posted;
  v_worse posted;
  v_openings opening[] := '{}';
  v_times timestamptz[];
  v_midnight timestamptz := daily_ceiling(p_rules);
begin
  for v_group in
    select m.group_key, g.episode_id, e.lives, i.runs, coalesce(i.ended_at, e.opened_at) as ended_at,
      max(m.severity_rank) as severity_rank,
      (array_agg(m order by m.n))[1] as first,
      (array_agg(m order by m.n) filter (where m.severity_rank > e.severity_rank or k.knows is null))[1] as worse
    from unnest(p_members) m cross join lateral (
      select ag.episode_id from alert_group ag
      where ag.workspace = p_rules.workspace and ag.group_key = m.group_key limit 1) g left join lateral (
      select x.ended_at is null as lives, x.severity_rank, x.opened_at
      from episode x where x.episode_id = g.episode_id limit 1) e on true left join lateral (
      select y.status in ('deferred', 'queued', 'running', 'waiting') as runs, y.ended_at
      from investigation y where y.episode_id = g.episode_id and y.parent_id is null
      order by y.created_at limit 1) i on true left join lateral (
      select true as knows from alert a where a.episode_id = g.episode_id and a.name = m.name limit 1) k on true
    group by m.group_key, g.episode_id, e.lives, i.runs, i.ended_at, e.opened_at
    order by m.group_key
  loop
    v_first := v_group.first;
    v_worse := v_group.worse;
    if v_group.episode_id is null or not v_group.lives then
      v_openings := v_openings || row(v_group.group_key, new_id(), v_group.episode_id, false, new_id(), v_first.n,
        v_first.name, v_first.body, v_group.severity_rank, null, '')::opening;
    elsif v_group.runs is not true and v_worse.n is not null and v_group.ended_at + p_rules.cooldown <= p_now then
      v_openings := v_openings || row(v_group.group_key, new_id(), v_group.episode_id, true, new_id(), v_worse.n,
        v_worse.name, v_worse.body, greatest(v_group.severity_rank, (select max(a.severity_rank) from alert a
          where a.episode_id = v_group.episode_id and a.status = 'firing')), null, '')::opening;
    end if;
  end loop;
  v_times := admission_times(p_rules, p_now, array(
    select o.severity_rank from unnest(v_openings) with ordinality o order by o.ordinality));
  for i in 1 .. cardinality(v_openings) loop
    if v_midnight is not null or v_times[i] > p_now then
      v_openings[i].not_before := greatest(v_midnight, v_times[i]);
      v_openings[i].defer_reason := case when v_midnight is null or v_times[i] > v_midnight then 'max_new_per_hour' else 'daily_usd' end;
    end if;
  end loop;
  return v_openings;
end $$;

create function open_episodes(
  p_rules intake_rules, p_openings opening[], p_receipt_id text, p_sender jsonb, p_now timestamptz
) returns void language plpgsql as $$
-- Begin these episodes, each with its investigation and the `received` revision for every destination.
declare
  o record;
  v_targets text[];
begin
  insert into episode (episode_id, workspace, group_key, intake, source, opened_at, severity_rank,
      previous_episode_id, quiet_for, stale_after, next_stale_at, sender)
    select u.episode_id, p_rules.workspace, u.group_key, p_rules.intake, p_rules.source, p_now, u.severity_rank,
      u.previous_episode_id, p_rules.quiet_for, p_rules.stale_after, p_now + p_rules.stale_after, p_sender
    from unnest(p_openings) u;
  for o in select * from unnest(p_openings) loop
    update alert_group set episode_id = o.episode_id
      where workspace = p_rules.workspace and group_key = o.group_key;
    if o.carries_over then
      update episode set ended_at = p_now where episode_id = o.previous_episode_id;
      update alert set episode_id = o.episode_id, joined_version = 1, changed_version = 1
        where episode_id = o.previous_episode_id and status = 'firing';
    end if;
  end loop;
  insert into investigation (investigation_id, workspace, episode_id, session_id, workflow, status, severity_rank,
      not_before, defer_reason, origin, title, service, intake, receipt_id, counted_as, admitted_at, created_at, rung_at)
    select u.investigation_id, p_rules.workspace, u.episode_id, 'intake:' || p_rules.intake, p_rules.workflow,
      case when u.not_before is null then 'queued' else 'deferred' end, u.severity_rank, u.not_before, u.defer_reason,
      jsonb_build_object('intake', p_rules.intake, 'source', p_rules.source),
      case when length(u.name) > 200 then left(u.name, 199) || '…' else u.name end,
      coalesce(labels_of(u.body) ->> 'service', ''), p_rules.intake, p_receipt_id,
      case when u.not_before is null then 'opened' else 'deferred' end, coalesce(u.not_before, p_now), p_now,
      case when u.not_before is null then p_now end
    from unnest(p_openings) u;
  with planned as materialized (
    select new_id() as target_id, u.investigation_id, u.defer_reason, d.destination
    from unnest(p_openings) u cross join unnest(p_rules.destinations) d (destination)
  ), made as (
    insert into delivery_target (target_id, investigation_id, workspace, destination, next_revision, rung_at)
      select target_id, investigation_id, p_rules.workspace, destination, 2, p_now from planned
  ), received as (
    insert into delivery (target_id, revision, kind, note, state, planned_at)
      select target_id, 1, 'received', defer_reason, 'planned', p_now from planned
  )
  select array_agg(target_id) into v_targets from planned;
  perform ring(u.investigation_id) from unnest(p_openings) u where u.not_before is null;
  perform ring_target(id) from unnest(v_targets) id;
end $$;
