import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { pemBlocks, withLines } from '../../transport-kit/tls.ts'
import type { Fields } from '../json/fields.ts'

/** Longest text in PEM, in bytes, if its schema has no `maxLength`. */
const PEM_BYTES = 65_536

/** Reads a chain of certificates in PEM, at least one. */
export function checkCertificates(fields: Fields, name: string, schema: JsonObject): void {
  const pem = fields.string(name, mostBytes(schema))
  if (pem === undefined || pem === '') return
  const blocks = pemBlocks(pem, 'CERTIFICATE')
  if (blocks.length > 0 && blocks.every(block => parses(() => new X509Certificate(block)))) {
    const lacksKey = name === 'cert' && (fields.raw('key') ?? '') === ''
    if (lacksKey) fields.problem('key', 'required', '"cert" needs its private key in "key"')
    return
  }
  fields.problem(name, 'format', `"${name}" must be one or more certificates in PEM (-----BEGIN CERTIFICATE-----)`)
}

/** Reads one private key in PEM, without a passphrase. */
export function checkPrivateKey(fields: Fields, name: string, schema: JsonObject): void {
  const pem = fields.string(name, mostBytes(schema))
  if (pem === undefined || pem === '') return
  if (parses(() => createPrivateKey(withLines(pem)))) {
    if (!belongs(fields.raw('cert'), pem))
      fields.problem(name, 'format', `"${name}" is not the key of the certificate in "cert"`)
    return
  }
  fields.problem(
    name,
    'format',
    `"${name}" must be a private key in PEM (-----BEGIN PRIVATE KEY-----), without a passphrase`,
  )
}

/** True when the key belongs to the first certificate, or no certificate can be read. */
function belongs(cert: JsonValue | undefined, key: string): boolean {
  const [first] = typeof cert === 'string' ? pemBlocks(cert, 'CERTIFICATE') : []
  if (first === undefined || !parses(() => new X509Certificate(first))) return true
  return new X509Certificate(first).checkPrivateKey(createPrivateKey(withLines(key)))
}

function mostBytes({ maxLength }: JsonObject): number {
  return typeof maxLength === 'number' ? maxLength : PEM_BYTES
}

function parses(read: () => unknown): boolean {
  try {
    read()
    return true
  } catch {
    return false
  }
}
