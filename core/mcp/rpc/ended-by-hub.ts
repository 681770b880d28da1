import { HubError } from '../../contract/errors.ts'

/** The error that answers a call in flight when the hub ends it; without an answer its client would wait. */
export function endedByHub(reason: string): HubError {
  if (reason === 'hub_stopped') return new HubError('draining', 'The hub stopped before the server had answered')
  return new HubError('session_not_found', 'The session was ended by the hub', { hint: 'Initialize a new session.' })
}
