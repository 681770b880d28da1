/** Runs a command with TEST_DATABASE_URL pointing at a PostgreSQL that lives as long as the command: `bun with-postgres.ts COMMAND…` */
import { startPostgres } from './postgres.ts'

const postgres = await startPostgres()
const child = Bun.spawn(process.argv.slice(2), {
  env: { ...process.env, TEST_DATABASE_URL: postgres.url },
  stdio: ['ignore', 'inherit', 'inherit'],
})
const code = await child.exited
await postgres.stop()
process.exit(code)
