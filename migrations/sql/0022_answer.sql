-- A human's answer: one of the writes that come from no owner (design 10). `store/actions.py` calls this.
-- Refusals, beside those at the top of 0002:
--   IQS01 its status, or the question's, does not allow it     IQG01 it was deleted

create index interrupt_open on interrupt (investigation_id) where answered_at is null;

-- Records the one answer of a question, and queues its investigation. `p_answered` is the canonical body of the
-- interrupt_answered; `p_until` the moment that it names: from now, what was left of the wall clock when the question
-- was asked. `p_note` is what the readers of the question are told in its place. Whoever comes second is refused.
create function answer_interrupt(
  p_workspace text, p_investigation text, p_interrupt text, p_answer text, p_actor text, p_until timestamptz,
  p_answered bytea, p_note text, p_schema_version int
) returns void
language plpgsql set search_path = inquest, pg_temp as $$
declare
  a investigation;
  q interrupt;
begin
  select * into a from investigation i
  where i.investigation_id = p_investigation and i.workspace = p_workspace for update;
  perform check_is_there(a, p_investigation);
  select * into q from interrupt x
  where x.interrupt_id = p_interrupt and x.investigation_id = p_investigation for update;
  if not found then
    raise exception 'interrupt %', p_interrupt using errcode = 'IQN01';
  elsif q.answer is not null then
    raise exception 'it was answered before' using errcode = 'IQS01';
  elsif q.answered_at is not null then
    raise exception 'nobody answered it in time' using errcode = 'IQS01';
  elsif a.status <> 'waiting' then
    raise exception 'it is %: it waits for no answer', a.status using errcode = 'IQS01';
  elsif not is_whole(a) then
    raise exception 'its journal is broken: it is about to end failed' using errcode = 'IQS01';
  end if;
  update interrupt x set answer = p_answer, actor = p_actor, answered_at = clock_timestamp()
  where x.interrupt_id = p_interrupt;
  a.generation := a.generation + 1;
  perform append_events(a, array['interrupt_answered'], array[p_answered], p_schema_version);
  update investigation i
  set status = 'queued', version = a.version + 1, generation = a.generation, deadline_at = p_until,
      rung_at = clock_timestamp()
  where i.investigation_id = p_investigation;
  perform plan_deliveries(p_investigation, jsonb_build_array(jsonb_build_object('kind', 'progress', 'note', p_note)));
  perform ring(p_investigation);
  perform fence_moved(p_investigation);
end $$;
