-- The life of an episode. Everything that changes one holds its group's row, so its version moves in commit
-- order: who asks what changed since a version misses nothing.

create function plan_for_episode(p_episode_id text, p_kind text, p_now timestamptz) returns void
language plpgsql as $$
-- Plan a `members` or `resolved` revision for every target of the episode's investigations. A revision is
-- rendered when its sender claims it, so one that is still planned shows the members of then: another
-- `members` beside it would say nothing, and `members` comes at most once a minute. But one that a sender has claimed
-- may have been rendered already, before this.
declare
  v_targets text[];
  v_target record;
  v_newest record;
  v_not_before timestamptz;
  v_ring text[] := '{}';
begin
  v_targets := array(
    select t.target_id from (
      select investigation_id from investigation where episode_id = p_episode_id and status <> 'deleting' offset 0) i
    cross join lateral (
      select target_id from delivery_target where investigation_id = i.investigation_id offset 0) t);
  for v_target in
    select target_id, owner_id from delivery_target where target_id = any (v_targets)
    order by target_id for no key update
  loop
    select kind, state into v_newest from delivery where target_id = v_target.target_id
      order by revision desc limit 1;
    continue when v_newest.state = 'planned' and v_target.owner_id is null and (v_newest.kind = p_kind or p_kind = 'members' and v_newest.kind <> 'resolved');
    v_not_before := null;
    if p_kind = 'members' then
      select max(coalesce(not_before, planned_at)) + interval '1 minute' into v_not_before
        from delivery where target_id = v_target.target_id and kind = 'members' and state <> 'superseded';
      v_not_before := nullif(greatest(v_not_before, p_now), p_now);
    end if;
    with numbered as (
      update delivery_target set next_revision = next_revision + 1,
        rung_at = case when v_not_before is null then p_now else rung_at end
      where target_id = v_target.target_id returning next_revision - 1 as revision)
    insert into delivery (target_id, revision, kind, state, not_before, planned_at)
      select v_target.target_id, revision, p_kind, 'planned', v_not_before, p_now from numbered;
    if v_not_before is null then
      v_ring := v_ring || v_target.target_id;
    end if;
  end loop;
  perform ring_target(id) from unnest(v_ring) id;
end $$;

-- ---- the life of an episode ----------------------------------------------------------------------------

create function settle_episodes(p_episode_ids text[], p_now timestamptz) returns void language plpgsql as $$
-- Bring live episodes up to `p_now`: members silent for stale_after stop firing, an episode without a firing
-- member is quiet and its `resolved` is planned, one that was quiet for quiet_for has ended. May be called at
-- any time and twice; the caller holds the rows of their groups.
declare
  v_episode record;
  v_last_post timestamptz;
  v_ended text[];
begin
  for v_episode in
    select e.episode_id, e.stale_after from unnest(p_episode_ids) id cross join lateral (
      select * from episode x where x.episode_id = id limit 1) e
    where e.ended_at is null and e.next_stale_at <= p_now
  loop
    with stale as (
      update alert a set status = 'resolved', stale = true, changed_version = e.version + 1
      from episode e
      where e.episode_id = v_episode.episode_id and a.episode_id = e.episode_id
        and a.status = 'firing' and a.last_seen <= p_now - e.stale_after
      returning a.last_seen)
    select max(last_seen) into v_last_post from stale;
    update episode e set version = version + case when v_last_post is null then 0 else 1 end,
      -- A repeat only moves last_seen forward, so nobody can go stale before the one who was silent longest.
      next_stale_at = coalesce((select min(a.last_seen) from alert a
        where a.episode_id = e.episode_id and a.status = 'firing'), p_now) + e.stale_after
    where e.episode_id = v_episode.episode_id;
    perform note_quiet(v_episode.episode_id, coalesce(v_last_post + v_episode.stale_after, p_now), p_now);
  end loop;
  for v_episode in
    select e.episode_id from unnest(p_episode_ids) id cross join lateral (
      select x.episode_id, x.ended_at, x.quiet_since, (
        select true from alert a where a.episode_id = x.episode_id and a.status = 'firing' limit 1) is true as fires
      from episode x where x.episode_id = id limit 1) e
    where e.ended_at is null and (e.quiet_since is not null) = e.fires
  loop
    perform note_quiet(v_episode.episode_id, p_now, p_now);
  end loop;
  v_ended := array(
    select e.episode_id from unnest(p_episode_ids) id cross join lateral (
      select x.episode_id, x.ended_at, x.quiet_since + x.quiet_for as ends_at
      from episode x where x.episode_id = id limit 1) e
    where e.ended_at is null and e.ends_at <= p_now);
  update episode set ended_at = quiet_since + quiet_for where episode_id = any (v_ended);
end $$;

create function note_quiet(p_episode_id text, p_since timestamptz, p_now timestamptz) returns void
language plpgsql as $$
-- Write down whether the episode is quiet, as of `p_since`, and plan the revision that says so.
begin
  if exists (select 1 from alert where episode_id = p_episode_id and status = 'firing') then
    update episode set quiet_since = null where episode_id = p_episode_id and quiet_since is not null;
    if found then
      perform plan_for_episode(p_episode_id, 'members', p_now);
    end if;
  else
    update episode set quiet_since = p_since where episode_id = p_episode_id and quiet_since is null;
    if found then
      perform plan_for_episode(p_episode_id, 'resolved', p_now);
    end if;
  end if;
end $$;

create function sweep_episodes(p_most int) returns int language plpgsql as $$
-- Settle at most `p_most` live episodes that time alone has changed, and give how many. For every worker's
-- sweep: groups that somebody else holds are left to him.
declare
  v_ids text[];
begin
  v_ids := array(
    select g.episode_id from alert_group g
    where (g.workspace, g.group_key) in (
      select e.workspace, e.group_key from episode e
      where e.ended_at is null and least(e.next_stale_at, e.quiet_since + e.quiet_for) <= clock_timestamp()
      limit p_most)
    order by g.workspace, g.group_key for no key update of g skip locked);
  perform settle_episodes(v_ids, clock_timestamp());
  return cardinality(v_ids);
end $$;
