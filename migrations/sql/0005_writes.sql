-- The entry points of the journal: `store/journal.py` calls these and nothing else.

-- A new investigation of an existing episode, and its bell. The same id again changes nothing.
create function open_investigation(p_workspace text, p jsonb) returns boolean
language plpgsql set search_path = inquest, pg_temp as $$
declare
  due timestamptz := (p ->> 'not_before')::timestamptz;
  opened boolean;
begin
  insert into investigation (investigation_id, workspace, episode_id, session_id, workflow, status, severity_rank,
                             not_before, defer_reason, parent_id, origin, title, service, created_at)
  select p ->> 'investigation_id', p_workspace, e.episode_id, p ->> 'session_id', p ->> 'workflow',
         case when due is null then 'queued' else 'deferred' end, (p ->> 'severity_rank')::int,
         due, p ->> 'defer_reason', p ->> 'parent_id', coalesce(nullif(p -> 'origin', 'null'), '{}'), p ->> 'title',
         p ->> 'service', clock_timestamp()
  from episode e where e.episode_id = p ->> 'episode_id' and e.workspace = p_workspace
  on conflict do nothing;
  opened := found;
  if opened and due is null then
    perform ring(p ->> 'investigation_id');
  end if;
  if not exists (select from investigation i
                 where i.investigation_id = p ->> 'investigation_id' and i.workspace = p_workspace) then
    raise exception 'episode %', p ->> 'episode_id' using errcode = 'IQN01';
  end if;
  return opened;
end $$;

-- A revision for every destination of the route, numbered in its own target; the targets' bells.
create function plan_deliveries(p_investigation text, p_revisions jsonb) returns void
language plpgsql as $$
declare
  t record;
begin
  if jsonb_array_length(p_revisions) = 0 then
    return;
  end if;
  for t in
    update delivery_target d set next_revision = d.next_revision + jsonb_array_length(p_revisions)
    where d.target_id in (
      select x.target_id from delivery_target x where x.investigation_id = p_investigation
      order by x.target_id for update
    )
    returning d.target_id, d.next_revision - jsonb_array_length(p_revisions) as first
  loop
    insert into delivery (target_id, revision, kind, note, state)
    select t.target_id, t.first + (r.at - 1)::int, r.value ->> 'kind', r.value ->> 'note', 'planned'
    from jsonb_array_elements(p_revisions) with ordinality as r (value, at);
    perform ring_target(t.target_id);
  end loop;
end $$;

-- Adds what an investigation spent since its last totals to its workspace's day and to the installation's. Where the cost
-- of a turn is not known, the day takes what was reserved for it: `p_reserved` of all turns that are settled now.
create function add_spend(
  p_workspace text, p_old jsonb, p_new jsonb, p_investigations int, p_reserved bigint default 0
) returns void
language plpgsql as $$
declare
  turns int := coalesce((p_new ->> 'model_turns')::int, 0) - coalesce((p_old ->> 'model_turns')::int, 0);
  effects int := coalesce((p_new ->> 'connector_effects')::int, 0)
    - coalesce((p_old ->> 'connector_effects')::int, 0);
  tokens_in bigint := coalesce((p_new ->> 'input_tokens')::bigint, 0)
    - coalesce((p_old ->> 'input_tokens')::bigint, 0);
  tokens_out bigint := coalesce((p_new ->> 'output_tokens')::bigint, 0)
    - coalesce((p_old ->> 'output_tokens')::bigint, 0);
  micros bigint := coalesce((p_new ->> 'usd_micros')::bigint, 0) - coalesce((p_old ->> 'usd_micros')::bigint, 0);
begin
  if coalesce((p_new ->> 'turns_of_unknown_cost')::int, 0) > coalesce((p_old ->> 'turns_of_unknown_cost')::int, 0) then
    micros := greatest(micros, coalesce(p_reserved, 0));
  end if;
  if (p_investigations, turns, effects, tokens_in, tokens_out, micros) = (0, 0, 0, 0, 0, 0) then
    return;
  end if;
  insert into spend_day as s (workspace, day, investigations, model_turns, connector_effects, input_tokens,
                              output_tokens, usd_micros)
  select w.name, (clock_timestamp() at time zone 'UTC')::date, p_investigations, turns, effects, tokens_in,
         tokens_out, micros
  from unnest(array[p_workspace, '']) with ordinality as w (name, at) order by w.at
  on conflict (workspace, day) do update
  set investigations = s.investigations + excluded.investigations,
      model_turns = s.model_turns + excluded.model_turns,
      connector_effects = s.connector_effects + excluded.connector_effects,
      input_tokens = s.input_tokens + excluded.input_tokens,
      output_tokens = s.output_tokens + excluded.output_tokens,
      usd_micros = s.usd_micros + excluded.usd_micros;
end $$;

create function raise_interrupt(p_investigation text, p jsonb) returns void
language sql as $$
  insert into interrupt (interrupt_id, investigation_id, prompt, expires_at, remaining)
  values (p ->> 'interrupt_id', p_investigation, p ->> 'prompt',
          clock_timestamp() + make_interval(secs => (p ->> 'life_s')::double precision),
          make_interval(secs => (p ->> 'remaining_s')::double precision))
$$;

-- One transaction of an owner (ports.Write); gives the new version. `p`: see store/journal.py, _document.
create function commit_write(
  p_workspace text, p jsonb, p_kinds text[], p_bodies bytea[], p_digests text[], p_contents bytea[]
) returns int
language plpgsql set search_path = inquest, pg_temp as $$
declare
  a investigation;
  old_spend jsonb;
  r record;
  lifecycle text := p ->> 'lifecycle';
  references_ text[] := array(select jsonb_array_elements_text(p -> 'references'));
begin
  select * into a from investigation i
  where i.investigation_id = p ->> 'investigation_id' and i.workspace = p_workspace for update;
  if not found then
    raise exception 'investigation %', p ->> 'investigation_id' using errcode = 'IQN01';
  end if;
  perform check_fence(a, p ->> 'owner_id', (p ->> 'generation')::int, (p ->> 'attempt')::int);
  if a.version <> (p ->> 'expected_version')::int then
    raise exception 'version % was expected, the aggregate is at %', p ->> 'expected_version', a.version
      using errcode = 'IQV01';
  end if;
  if jsonb_array_length(p -> 'reservations') > 0 then
    perform check_not_halted(p_workspace);
  end if;
  perform store_contents(p_workspace, a.investigation_id, p_digests, p_contents);
  for r in
    select * from jsonb_to_recordset(p -> 'receipts') as t (
      key text, fingerprint text, outcome_digest text, provider_request_id text, provider_response_id text)
    order by t.key collate "C"
  loop
    perform record_receipt(a.investigation_id, r.key, r.fingerprint, r.outcome_digest, r.provider_request_id,
                           r.provider_response_id);
  end loop;
  if cardinality(references_) > 0 then
    perform refer_to(p_workspace, a.investigation_id, references_);
  end if;
  if p ? 'identity' and p -> 'identity' <> jsonb_build_object(
    'workspace_id', a.workspace, 'task_id', a.episode_id, 'run_id', a.investigation_id,
    'session_id', a.session_id, 'workflow_id', a.workflow) then
    raise exception 'the identity of run_started is not that of the investigation' using errcode = 'IQD01';
  end if;
  perform append_events(a, p_kinds, p_bodies, (p ->> 'schema_version')::int);
  old_spend := a.spend;
  a.version := a.version + cardinality(p_kinds);
  a := set_marks(a, p -> 'marks');
  if jsonb_array_length(p -> 'reservations') > 0 then
    perform reserve_batch(a, a.version, p -> 'reservations', (p ->> 'max_other_model_turns')::int);
  end if;
  if p ? 'interrupt' then
    perform raise_interrupt(a.investigation_id, p -> 'interrupt');
  end if;
  perform keep_aggregate(a, lifecycle, nullif(p -> 'spend', 'null'));
  perform plan_deliveries(a.investigation_id, p -> 'revisions');
  if (p ->> 'noise')::boolean then
    perform count_as_noise(a.investigation_id);
  end if;
  if lifecycle is not null then
    perform ring_next(p_workspace);
  end if;
  perform add_spend(p_workspace, old_spend, coalesce(nullif(p -> 'spend', 'null'), old_spend),
                    (case when 'run_started' = any (p_kinds) then 1 else 0 end),
                    case when nullif(p -> 'spend', 'null') is not null then settle_day(a.investigation_id) end);
  return a.version;
end $$;

-- What the events of a write set on the row: ceilings and deadline, and the columns of lists.
create function set_marks(a investigation, p jsonb) returns investigation
language plpgsql stable as $$
begin
  a.max_model_turns := coalesce((p ->> 'max_model_turns')::int, a.max_model_turns);
  a.max_connector_effects := coalesce((p ->> 'max_connector_effects')::int, a.max_connector_effects);
  a.deadline_at := coalesce((p ->> 'deadline_at')::timestamptz, a.deadline_at);
  a.title := coalesce(p ->> 'title', a.title);
  a.service := coalesce(p ->> 'service', a.service);
  a.verdict := coalesce(p ->> 'verdict', a.verdict);
  return a;
end $$;

-- The one UPDATE of the aggregate in an owner's write. A lifecycle ends the lease, without a charge; under a
-- terminal one no reserved effect is left runnable.
create function keep_aggregate(a investigation, p_lifecycle text, p_spend jsonb) returns void
language plpgsql as $$
declare
  ends boolean := p_lifecycle in ('succeeded', 'failed', 'cancelled');
begin
  update investigation i
  set version = a.version, max_model_turns = a.max_model_turns, max_connector_effects = a.max_connector_effects,
      deadline_at = a.deadline_at, title = a.title, service = a.service, verdict = a.verdict,
      spend = coalesce(p_spend, i.spend),
      status = coalesce(p_lifecycle, i.status),
      owner_id = case when p_lifecycle is null then i.owner_id end,
      lease_expires_at = case when p_lifecycle is null then i.lease_expires_at end,
      released = p_lifecycle is not null,
      ended_at = case when ends then clock_timestamp() else i.ended_at end
  where i.investigation_id = a.investigation_id;
  if ends then
    update effect e set state = 'abandoned' where e.investigation_id = a.investigation_id and e.state = 'reserved';
  end if;
end $$;

-- Reserve one key, or take over what a dead owner reserved (ports.Effects.reserve).
create function reserve_effect(
  p_workspace text, p_investigation text, p_owner text, p_generation int, p_attempt int, p_expected_version int,
  p jsonb, p_max_dispatches int, p_max_others int, p_day_ceilings jsonb,
  out answer text, out taken effect
)
language plpgsql set search_path = inquest, pg_temp as $$
declare
  a investigation;
  e effect;
  model int := (p ->> 'kind' = 'model')::int;
  loop_turn int := (p ->> 'kind' = 'model' and p ->> 'key' like 'turn/%')::int;
  new_key text := p ->> 'key';
  same boolean;
  mine boolean;
begin
  select * into a from investigation i
  where i.investigation_id = p_investigation and i.workspace = p_workspace for update;
  if not found then
    raise exception 'investigation %', p_investigation using errcode = 'IQN01';
  end if;
  perform check_fence(a, p_owner, p_generation, p_attempt);
  e := latest_taking(p_investigation, p ->> 'key');
  same := e.fingerprint = p ->> 'fingerprint';
  mine := e.generation = p_generation;
  if e.key is null then
    answer := 'fresh';
    if a.version <> p_expected_version then
      raise exception 'version % was expected, the aggregate is at %', p_expected_version, a.version
        using errcode = 'IQV01';
    end if;
  elsif e.state = 'committed' and same then
    answer := 'known';
  elsif not same and (e.state = 'committed' or mine) then
    raise exception '% holds another request', e.key using errcode = 'IQK01';
  elsif not same then
    answer := 'moved';
    update effect x set state = 'abandoned' where x.investigation_id = p_investigation and x.key = e.key;
    new_key := regexp_replace(e.key, '/try/\d+$', '') || '/try/'
      || coalesce(substring(e.key from '/try/(\d+)$')::int, 1) + 1;
  elsif mine then
    answer := 'mine';
  elsif e.dispatches >= p_max_dispatches then
    answer := 'spent';
  else
    answer := 'again';
  end if;
  if answer in ('fresh', 'moved') then
    perform check_ceilings(a, loop_turn, model - loop_turn, 1 - model, p_max_others);
    perform insert_reservation(a, a.version, new_key, p ->> 'kind', p ->> 'fingerprint', p ->> 'tool_call_id',
                               (p ->> 'timeout_ms')::int);
  elsif answer = 'again' then
    perform check_ceilings(a, 0, 0, 1 - model, p_max_others);
    update effect x
    set generation = p_generation, attempt = p_attempt, expected_version = a.version,
        dispatches = x.dispatches + 1, timeout_ms = (p ->> 'timeout_ms')::int, reserved_at = clock_timestamp()
    where x.investigation_id = p_investigation and x.key = e.key;
  end if;
  if answer in ('fresh', 'moved', 'mine', 'again') then
    perform check_not_halted(p_workspace);
  end if;
  if answer in ('fresh', 'moved') then
    perform reserve_day(p_workspace, p_investigation, new_key, (p ->> 'most_usd_micros')::bigint, p_day_ceilings);
  end if;
  select * into taken from effect x
  where x.investigation_id = p_investigation
    and x.key = case when answer in ('fresh', 'moved') then new_key else e.key end;
end $$;

-- One outcome, alone. FOR SHARE: many of one batch at once, and none may write the aggregate.
create function receive_effect(
  p_workspace text, p_investigation text, p_owner text, p_generation int, p_attempt int,
  p_key text, p_fingerprint text, p_outcome_digest text, p_provider_request_id text, p_provider_response_id text,
  p_digests text[], p_contents bytea[]
) returns void
language plpgsql set search_path = inquest, pg_temp as $$
declare
  a investigation;
begin
  select * into a from investigation i
  where i.investigation_id = p_investigation and i.workspace = p_workspace for share;
  if not found then
    raise exception 'investigation %', p_investigation using errcode = 'IQN01';
  end if;
  perform check_fence(a, p_owner, p_generation, p_attempt);
  perform store_contents(p_workspace, p_investigation, p_digests, p_contents);
  perform record_receipt(p_investigation, p_key, p_fingerprint, p_outcome_digest, p_provider_request_id,
                         p_provider_response_id);
  if not p_outcome_digest = any (p_digests) then
    perform refer_to(p_workspace, p_investigation, array[p_outcome_digest]);
  end if;
end $$;

-- Bytes that no event commits, kept as long as the investigation.
create function put_contents(
  p_workspace text, p_investigation text, p_digests text[], p_contents bytea[]
) returns void
language plpgsql set search_path = inquest, pg_temp as $$
begin
  perform from investigation i where i.investigation_id = p_investigation and i.workspace = p_workspace for key share;
  if not found then
    raise exception 'investigation %', p_investigation using errcode = 'IQN01';
  end if;
  perform store_contents(p_workspace, p_investigation, p_digests, p_contents);
end $$;
