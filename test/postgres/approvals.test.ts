import { afterAll, beforeAll, setDefaultTimeout, test } from 'bun:test'
import { Killed, meetAKill } from '../plugins/approvals/killed.ts'
import { type Postgres, startPostgres } from '../support/postgres.ts'

setDefaultTimeout(120_000)

let postgres: Postgres
let killed: Killed

beforeAll(async () => {
  postgres = await startPostgres()
  killed = await Killed.start({ DATABASE_URL: await postgres.database('approvals') })
}, 120_000)
afterAll(async () => {
  await killed?.stop()
  await postgres?.stop()
}, 120_000)

test('on PostgreSQL four kinds of callers meet SIGKILL, and no yes is used twice', () => meetAKill(killed))
