import { stdioFixture } from '../support/hub.ts'

/** A fixture that all sessions share from the start: the hub starts no second process to look at what it does for others. */
export function sharedFixture(name: string, env: Record<string, string> = {}): object {
  return { ...stdioFixture(name, env), session: 'shared' }
}
