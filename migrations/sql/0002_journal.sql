-- The journal's writes: each is one function, called in autocommit, so that a write is one round trip.
-- Refusals are SQLSTATEs that store/refusals.py translates, and nowhere else:
--   IQN01 no such row in this workspace     IQF01 fence lost           IQV01 the version moved on
--   IQK01 the key holds another request     IQB01 a ceiling (detail: json {ceiling, used, allowed})
--   IQH01 halted                            IQD01 another identity     IQI01 only a bug of ours asks for this
-- Lock order: the aggregate (FOR UPDATE; a receipt FOR SHARE, and it never writes the aggregate: FOR SHARE
-- followed by an UPDATE of the same row deadlocks), contents by digest, effect rows by key, delivery targets,
-- spend_day last.

create function chain_digest(p_prev text, p_body bytea) returns text
language sql stable as $$
  select 'sha256:' || encode(sha256(convert_to(p_prev, 'UTF8') || '\x0a'::bytea || p_body), 'hex')
$$;

create function check_fence(a investigation, p_owner text, p_generation int, p_attempt int) returns void
language plpgsql as $$
begin
  if a.status <> 'running' or a.owner_id is distinct from p_owner
     or a.generation <> p_generation or a.attempt <> p_attempt then
    raise exception '% is no longer owned by generation %', a.investigation_id, p_generation using errcode = 'IQF01';
  end if;
end $$;

create function check_not_halted(p_workspace text) returns void
language plpgsql as $$
begin
  if exists (select from halt h where h.workspace in (p_workspace, '')) then
    raise exception 'workspace % is halted', p_workspace using errcode = 'IQH01';
  end if;
end $$;

create function check_ceiling(p_ceiling text, p_used numeric, p_more numeric, p_allowed numeric) returns void
language plpgsql as $$
begin
  if p_more > 0 and p_used + p_more > p_allowed then
    raise exception '%: % of % used', p_ceiling, p_used, p_allowed using errcode = 'IQB01',
      detail = json_build_object('ceiling', p_ceiling, 'used', p_used, 'allowed', p_allowed)::text;
  end if;
end $$;

-- Refuses reservations past the deadline or over a ceiling. Tries and repeated dispatches of queries count; an
-- abandoned turn does not, since its try counts in its place.
create function check_ceilings(
  a investigation, p_turns int, p_others int, p_queries int, p_max_others int
) returns void
language plpgsql as $$
declare
  t timestamptz := clock_timestamp();
  turns int;
  others int;
  dispatched int;
begin
  if a.max_model_turns is null or a.started_at is null then
    raise exception 'nothing is reserved before run_started' using errcode = 'IQI01';
  end if;
  if t >= a.deadline_at then
    raise exception 'deadline_at: it has passed' using errcode = 'IQB01',
      detail = json_build_object(
        'ceiling', 'deadline_at',
        'used', extract(epoch from t - a.started_at),
        'allowed', extract(epoch from a.deadline_at - a.started_at))::text;
  end if;
  select
    count(*) filter (where e.kind = 'model' and e.state <> 'abandoned' and e.key like 'turn/%'),
    count(*) filter (where e.kind = 'model' and e.state <> 'abandoned' and e.key not like 'turn/%'),
    coalesce(sum(e.dispatches) filter (where e.kind = 'query'), 0)
  into turns, others, dispatched
  from effect e where e.investigation_id = a.investigation_id;
  perform check_ceiling('max_model_turns', turns, p_turns, a.max_model_turns);
  perform check_ceiling('max_other_model_turns', others, p_others, p_max_others);
  perform check_ceiling('max_connector_effects', dispatched, p_queries, a.max_connector_effects);
end $$;

-- Appends one batch of events to the journal, chained; the caller moves the version.
create function append_events(
  a investigation, p_kinds text[], p_bodies bytea[], p_schema_version int
) returns void
language plpgsql as $$
declare
  prev text := 'sha256:' || repeat('0', 64);
  digest text;
  n int := a.version;
  r record;
begin
  if cardinality(p_kinds) = 0 then
    return;
  end if;
  if n = 0 and p_kinds[1] not in ('run_started', 'run_cancelled') then
    raise exception '% cannot be the first event', p_kinds[1] using errcode = 'IQI01';
  end if;
  if 'run_started' = any (p_kinds[(case when n = 0 then 2 else 1 end):]) then
    raise exception 'run_started is the first event only' using errcode = 'IQI01';
  end if;
  if n > 0 then
    select e.body_digest into prev from event e where e.investigation_id = a.investigation_id and e.seq = n;
    if not found then
      raise exception 'event % of % is missing', n, a.investigation_id using errcode = 'IQI01';
    end if;
  end if;
  if 'plan_committed' = any (p_kinds) and exists (
    select from event e where e.investigation_id = a.investigation_id and e.kind = 'plan_committed'
  ) then
    raise exception 'a plan is committed once' using errcode = 'IQI01';
  end if;
  for r in select t.kind, t.body from unnest(p_kinds, p_bodies) with ordinality as t (kind, body, at) order by t.at loop
    n := n + 1;
    digest := chain_digest(prev, r.body);
    insert into event (investigation_id, seq, batch_id, generation, attempt, kind, schema_version, body,
                       body_digest, prev_digest)
    values (a.investigation_id, n, 'batch/' || a.version + 1, a.generation, a.attempt, r.kind, p_schema_version,
            r.body, digest, prev);
    prev := digest;
  end loop;
end $$;

create function store_contents(
  p_workspace text, p_investigation text, p_digests text[], p_contents bytea[]
) returns void
language plpgsql as $$
declare
  held int;
begin
  if cardinality(p_digests) = 0 then
    return;
  end if;
  loop
    insert into content (workspace, digest, bytes)
    select p_workspace, t.digest, t.bytes from unnest(p_digests, p_contents) as t (digest, bytes)
    order by t.digest collate "C"
    on conflict do nothing;
    -- What was there already may be taken away by the purge of another investigation: hold it, or store it again.
    perform from content c where c.workspace = p_workspace and c.digest = any (p_digests)
    order by c.digest collate "C" for key share;
    get diagnostics held = row_count;
    exit when held = (select count(distinct d) from unnest(p_digests) as d);
  end loop;
  perform refer_to(p_workspace, p_investigation, p_digests);
end $$;

-- Keeps what `p_digests` name for as long as the investigation lives; refuses to name what is not stored.
create function refer_to(p_workspace text, p_investigation text, p_digests text[]) returns void
language plpgsql as $$
declare
  missing text;
begin
  select d into missing from unnest(p_digests) as d
  where not exists (select from content c where c.workspace = p_workspace and c.digest = d)
  order by d collate "C" limit 1;
  if found then
    raise exception 'content % is referred to and not stored', missing using errcode = 'IQI01';
  end if;
  insert into content_ref (investigation_id, workspace, digest)
  select p_investigation, p_workspace, d from unnest(p_digests) as d
  order by d collate "C"
  on conflict do nothing;
end $$;

-- Closes one reservation; the same receipt again changes nothing.
create function record_receipt(
  p_investigation text, p_key text, p_fingerprint text, p_outcome_digest text,
  p_provider_request_id text, p_provider_response_id text
) returns void
language plpgsql as $$
declare
  e effect;
begin
  update effect x
  set state = 'committed', outcome_digest = p_outcome_digest, provider_request_id = p_provider_request_id,
      provider_response_id = p_provider_response_id, committed_at = clock_timestamp()
  where x.investigation_id = p_investigation and x.key = p_key and x.state = 'reserved'
    and x.fingerprint = p_fingerprint;
  if found then
    return;
  end if;
  select * into e from effect x where x.investigation_id = p_investigation and x.key = p_key;
  if not found then
    raise exception '% was never reserved', p_key using errcode = 'IQI01';
  elsif e.fingerprint <> p_fingerprint then
    raise exception '% holds another request', p_key using errcode = 'IQK01';
  elsif e.state <> 'committed' or e.outcome_digest <> p_outcome_digest then
    raise exception '% is % and takes no outcome', p_key, e.state using errcode = 'IQI01';
  end if;
end $$;

create function latest_taking(p_investigation text, p_key text) returns effect
language sql stable as $$
  select e from effect e
  where e.investigation_id = p_investigation
    and (e.key = regexp_replace(p_key, '/try/\d+$', '')
         or starts_with(e.key, regexp_replace(p_key, '/try/\d+$', '') || '/try/'))
  order by coalesce(substring(e.key from '/try/(\d+)$')::int, 1) desc
  limit 1
$$;

create function insert_reservation(
  a investigation, p_version int, p_key text, p_kind text, p_fingerprint text, p_tool_call_id text, p_timeout_ms int
) returns void
language sql as $$
  insert into effect (investigation_id, key, kind, fingerprint, tool_call_id, generation, attempt, expected_version,
                      state, timeout_ms)
  values (a.investigation_id, p_key, p_kind, p_fingerprint, p_tool_call_id, a.generation, a.attempt, p_version,
          'reserved', p_timeout_ms)
$$;

-- New keys of a batch, all or none; they carry the version after the events of their write.
create function reserve_batch(a investigation, p_version int, p_reservations jsonb, p_max_others int) returns void
language plpgsql as $$
declare
  r record;
  e effect;
begin
  for r in
    select * from jsonb_to_recordset(p_reservations) as t (key text, fingerprint text) order by t.key collate "C"
  loop
    e := latest_taking(a.investigation_id, r.key);
    if e.fingerprint <> r.fingerprint then
      raise exception '% holds another request', e.key using errcode = 'IQK01';
    elsif e.key is not null then
      raise exception '% is already %', e.key, e.state using errcode = 'IQI01';
    end if;
  end loop;
  perform check_ceilings(
    a,
    (select count(*)::int from jsonb_array_elements(p_reservations) t
      where t ->> 'kind' = 'model' and t ->> 'key' like 'turn/%'),
    (select count(*)::int from jsonb_array_elements(p_reservations) t
      where t ->> 'kind' = 'model' and t ->> 'key' not like 'turn/%'),
    (select count(*)::int from jsonb_array_elements(p_reservations) t where t ->> 'kind' = 'query'),
    p_max_others);
  insert into effect (investigation_id, key, kind, fingerprint, tool_call_id, generation, attempt, expected_version,
                      state, timeout_ms)
  select a.investigation_id, t.key, t.kind, t.fingerprint, t.tool_call_id, a.generation, a.attempt, p_version,
         'reserved', t.timeout_ms
  from jsonb_to_recordset(p_reservations)
    as t (key text, kind text, fingerprint text, tool_call_id text, timeout_ms int)
  order by t.key collate "C";
end $$;
