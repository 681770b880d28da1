import pg from 'pg'
import { type Postgres, startPostgres } from '../../support/postgres.ts'

/**
 * A PostgreSQL for files that only need databases of their own: the one that with-postgres.ts has started for the family,
 * else a new one. A test that stops or halts it needs `startPostgres`.
 */
export async function anyPostgres(): Promise<Pick<Postgres, 'database' | 'stop'>> {
  const server = process.env.TEST_DATABASE_URL
  if (server === undefined) return startPostgres()
  return {
    async database(name) {
      const client = new pg.Client({ connectionString: server })
      await client.connect()
      await client.query(`create database ${name}`)
      await client.end()
      return server.replace(/postgres$/, name)
    },
    async stop() {},
  }
}
