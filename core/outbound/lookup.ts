import { lookup as systemLookup } from 'node:dns/promises'

/** All addresses of a name, in the order in which they should be tried; throws if there is none. */
export type Lookup = (hostname: string) => Promise<readonly string[]>

/**
 * Queries the name servers and the hosts file without blocking a thread. The system's resolver blocks one of a few until it has
 * a response, so that some names with silent name servers would delay all others: it is used only for names not found otherwise
 * (names of the local network, name servers that changed since the start), one at a time. Share one per thread.
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
