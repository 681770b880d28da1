import { HubError } from '../../../contract/errors.ts'

/** The answer to a request that would change something without having been planned. */
export function planMissing(message: string): HubError {
  return new HubError('validation_failed', message, {
    errors: [{ pointer: '#/planHash', code: 'required', detail: 'Ask with ?dryRun=true, and send its planHash' }],
  })
}
