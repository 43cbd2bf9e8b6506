-- Cancel: one of the writes that come from no owner (design 10). `store/actions.py` calls this.
-- Refusals, beside those at the top of 0002:
--   IQS01 its status does not allow it     IQG01 it was deleted

-- Ends an investigation that has not ended, whoever owns it. Gives false when it was cancelled before, and changes
-- nothing then. No reserved effect is left under it: each is closed with the outcome of its kind, `p_outcomes`, whose
-- bytes are `p_contents` under `p_digests`. The owner, if there is one, loses its fence and is told.
create function cancel_investigation(
  p_workspace text, p_investigation text, p_cancelled bytea, p_reason text, p_schema_version int,
  p_digests text[], p_contents bytea[], p_outcomes jsonb
) returns boolean
language plpgsql set search_path = inquest, pg_temp as $$
declare
  a investigation;
begin
  select * into a from investigation i
  where i.investigation_id = p_investigation and i.workspace = p_workspace for update;
  perform check_is_there(a, p_investigation);
  if a.status = 'cancelled' then
    return false;
  elsif a.status in ('succeeded', 'failed') then
    raise exception 'it has already %', a.status using errcode = 'IQS01';
  elsif a.version > 0 and not is_whole(a) then
    raise exception 'its journal is broken: it is about to end failed' using errcode = 'IQS01';
  end if;
  if exists (select from effect e where e.investigation_id = p_investigation and e.state = 'reserved') then
    perform store_contents(p_workspace, p_investigation, p_digests, p_contents);
    update effect e
    set state = 'committed', outcome_digest = p_outcomes ->> e.kind, committed_at = clock_timestamp()
    where e.investigation_id = p_investigation and e.state = 'reserved';
  end if;
  a.generation := a.generation + 1;
  perform append_events(a, array['run_cancelled'], array[p_cancelled], p_schema_version);
  update investigation i
  set status = 'cancelled', version = a.version + 1, generation = a.generation, owner_id = null,
      lease_expires_at = null, released = true, not_before = null, ended_at = clock_timestamp()
  where i.investigation_id = p_investigation;
  perform plan_deliveries(p_investigation,
                          jsonb_build_array(jsonb_build_object('kind', 'cancelled', 'note', p_reason)));
  perform ring_next(p_workspace);
  perform fence_moved(p_investigation);
  return true;
end $$;

create function check_is_there(a investigation, p_investigation text) returns void
language plpgsql as $$
begin
  if a.investigation_id is null then
    raise exception 'investigation %', p_investigation using errcode = 'IQN01';
  elsif a.status = 'deleting' then
    raise exception 'investigation % was deleted', p_investigation using errcode = 'IQG01';
  end if;
end $$;
