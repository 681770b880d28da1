import type { ForeignClient } from './clients.ts'
import { type ClientFound, runClient, startClientWorld } from './run-clients.ts'
import { runServer, type ServerFound, startServerWorld } from './run-servers.ts'
import type { ForeignServer } from './servers.ts'

/** Programs at a time: each is a process that loads much, and most of what it then does is wait. */
const AT_ONCE = 4

export async function runClients(clients: readonly ForeignClient[]): Promise<readonly ClientFound[]> {
  const world = await startClientWorld()
  try {
    return await inLanes(clients, client => runClient(world, client))
  } finally {
    await world.stop()
  }
}

export async function runServers(servers: readonly ForeignServer[]): Promise<readonly ServerFound[]> {
  const world = await startServerWorld(servers)
  try {
    return (await inLanes(servers, server => runServer(world, server))).flat()
  } finally {
    await world.stop()
  }
}

/** Works on a few items at a time, and returns the results in the order of the items. */
async function inLanes<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = []
  const left = items.entries()
  const lane = async (): Promise<void> => {
    for (const [at, item] of left) results[at] = await work(item)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
  return results
}
