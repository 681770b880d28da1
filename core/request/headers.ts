/** On every answer. Scripts, styles and frames have no place in any of them but the console, which sets its own policy. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
}

/** Puts on what an answer lacks. Some answers have headers that cannot be written: those are made anew. */
export function withHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
  try {
    addMissing(response.headers, headers)
    return response
  } catch {
    const copy = new Headers(response.headers)
    addMissing(copy, headers)
    return new Response(response.body, { status: response.status, statusText: response.statusText, headers: copy })
  }
}

/** The items of a header that is a list, in lower case. An expression for commas with space around them is slow on endless space. */
export function headerItems(value: string | null | undefined): string[] {
  return (value ?? '')
    .toLowerCase()
    .split(',')
    .map(item => item.trim())
}

function addMissing(target: Headers, headers: Readonly<Record<string, string>>): void {
  for (const name in headers) if (!target.has(name)) target.set(name, headers[name] ?? '')
}
