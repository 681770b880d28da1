import { HubError } from '../contract/errors.ts'

/** Why nothing is written while the hub stops. */
export function stopping(): HubError {
  return new HubError('draining', 'The hub is stopping: nothing is changed or started any more')
}

/** Why nothing is written while the data folder is not in its place. */
export function dataDirLost(): HubError {
  return new HubError('storage_unavailable', 'The data folder was moved, removed or replaced while the hub ran', {
    hint: 'Put the folder back where it was; nothing was made anew in its place.',
    retryAfterSeconds: 5,
  })
}
