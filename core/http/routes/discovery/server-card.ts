import { createHash } from 'node:crypto'
import { LEGACY_VERSIONS, MODERN_VERSION } from '../../../domain/era.ts'
import type { GroupHead } from '../../../registry/api.ts'

/** The media type of a server card. */
export const CARD_TYPE = 'application/mcp-server-card+json'
/** The format of a card, as its draft names it. */
const SCHEMA = 'https://static.modelcontextprotocol.io/schemas/v2/server-card.schema.json'
/** Most characters of a title and of a description, by the schema. */
const TEXT_CHARACTERS = 100
/** Most characters of each half of a card's name, which has at most 200 together. */
const HALF_CHARACTERS = 96
/** A name that needs no change; one dot, so that no other owner and group have the same. */
const PLAIN = /^[a-z0-9_-]+\.[a-z0-9_-]+$/i
/** The versions with Streamable HTTP, which an endpoint under `/mcp` is. */
const VERSIONS = [...LEGACY_VERSIONS.filter(version => version >= '2025-03-26'), MODERN_VERSION]

/** The fields of a public group that strangers may read. */
export type ListedGroup = Pick<GroupHead, 'name' | 'ownerName' | 'description'>

/** The card of a group: identity and connection, without anything about its members. */
export function serverCard(group: ListedGroup, baseUrl: string, version: string): object {
  return {
    $schema: SCHEMA,
    name: `${reversedHost(baseUrl)}/${cardName(group)}`,
    title: title(group),
    description: cut(group.description ?? '') || cut(`The group "${group.name}" of this hub`),
    version,
    remotes: [
      {
        type: 'streamable-http',
        url: endpoint(group, baseUrl),
        headers: [
          {
            name: 'Authorization',
            description: 'An access key of this hub. A user of the hub makes one.',
            isRequired: true,
            isSecret: true,
            value: 'Bearer {key}',
            variables: { key: { description: 'The access key, pb_...', isRequired: true, isSecret: true } },
          },
        ],
        supportedProtocolVersions: VERSIONS,
      },
    ],
  }
}

/** The entry of a group in the catalogue. */
export function catalogEntry(group: ListedGroup, baseUrl: string): object {
  return {
    identifier: `urn:air:${host(baseUrl)}:${cardName(group)}`,
    displayName: title(group),
    type: CARD_TYPE,
    url: `${endpoint(group, baseUrl)}/server-card`,
  }
}

/** The address of a group for everybody, with its owner in the path. */
function endpoint({ ownerName, name }: ListedGroup, baseUrl: string): string {
  return `${baseUrl}/mcp/@${encodeURIComponent(ownerName)}/${encodeURIComponent(name)}`
}

/** The title that the endpoint has in `serverInfo`. */
function title({ name }: ListedGroup): string {
  return cut(`Patchbay: ${name}`)
}

function cut(text: string): string {
  // A description may have 64 KiB; a character has one or two code units.
  const characters = [
    ...text
      .slice(0, 8 * TEXT_CHARACTERS)
      .replace(/\s+/g, ' ')
      .trim(),
  ]
  return characters.length <= TEXT_CHARACTERS
    ? characters.join('')
    : `${characters.slice(0, TEXT_CHARACTERS - 1).join('')}…`
}

/** Owner and group as ASCII. A name that cannot be written so gets a hash, which keeps it different from all others. */
function cardName({ ownerName, name }: ListedGroup): string {
  const plain = `${ownerName}.${name}`
  if (PLAIN.test(plain) && plain.length <= HALF_CHARACTERS) return plain
  const hash = createHash('sha256').update(`${ownerName}/${name}`).digest('hex').slice(0, 12)
  const readable = plain.normalize('NFKD').replace(/[^a-zA-Z0-9._-]+/g, '-')
  return `${readable.slice(0, HALF_CHARACTERS - 13)}-${hash}`
}

/** The host without port; characters that a card's name may not have are replaced, such as those of IPv6 addresses. */
function host(baseUrl: string): string {
  const { hostname } = new URL(baseUrl)
  return hostname.replace(/^\[|\]$/g, '').replace(/[^a-zA-Z0-9.-]/g, '-')
}

function reversedHost(baseUrl: string): string {
  const name = host(baseUrl)
  const reversed = /^[\d.]+$/.test(name) ? name : name.split('.').reverse().join('.')
  return reversed.slice(0, HALF_CHARACTERS)
}
