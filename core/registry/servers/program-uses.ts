import type { JsonObject } from '../../contract/json.ts'
import type { Reader } from '../../store/transact.ts'

/** Names of the servers, of one owner or of all, whose configuration has this text in this member. */
export async function serversRunning(db: Reader, field: string, program: string, ownerId?: string): Promise<string[]> {
  const named = `${JSON.stringify(field)}:${JSON.stringify(program)}`
  // A first choice: quotes inside of values are escaped in JSON, but the member may be of another object.
  const using = db
    .selectFrom('server')
    .select(['name', 'config'])
    .where('config', 'like', `%${named.replaceAll(/[\\%_]/g, '_')}%`)
  const rows = await (ownerId === undefined ? using : using.where('owner_id', '=', ownerId)).execute()
  return rows.filter(({ config }) => memberOf(config, field) === program).map(({ name }) => name)
}

function memberOf(settings: string, field: string): unknown {
  const { config } = JSON.parse(settings) as { readonly config: JsonObject }
  return config[field]
}
