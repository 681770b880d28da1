import { lookup as systemLookup } from 'node:dns/promises'

/** All addresses of a name, in the order in which they should be tried; throws when there is none. */
export type Lookup = (hostname: string) => Promise<readonly string[]>

/**
 * Asks the name servers and the hosts file without holding a thread. The system's resolver holds one of a few until it has
 * an answer, so that some names whose servers are silent would keep everybody else's waiting: it is asked only for what is
 * not found so (names of the local network, name servers that have changed since the start), and for one name at a time.
 * To be shared by all that runs in a thread.
 */
export function createLookup(): Lookup {
  let systemAsked = false
  return async hostname => {
    try {
      return addressesOf(await Bun.dns.lookup(hostname, { backend: 'c-ares' }))
    } catch (error) {
      if (systemAsked) throw error
      systemAsked = true
      try {
        return addressesOf(await systemLookup(hostname, { all: true, order: 'verbatim' }))
      } finally {
        systemAsked = false
      }
    }
  }
}

function addressesOf(answers: readonly { readonly address: string }[]): readonly string[] {
  return answers.map(({ address }) => address)
}
