import { HubError } from '../../contract/errors.ts'

/** What calls in flight are answered when the hub ends them: for want of any answer their clients would wait on. */
export function endedByHub(reason: string): HubError {
  if (reason === 'hub_stopped') return new HubError('draining', 'The hub stopped before the server had answered')
  return new HubError('session_not_found', 'The session was ended by the hub', { hint: 'Initialize a new session.' })
}
