/** Sent with every response. No response needs scripts, styles or frames except the console, which sets its own policy. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
}

/** Adds missing headers. Copies a response whose headers are immutable. */
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

/** The items of a list header, in lower case. A regular expression for commas with spaces would be slow on long runs of
 * spaces. */
export function headerItems(value: string | null | undefined): string[] {
  return (value ?? '')
    .toLowerCase()
    .split(',')
    .map(item => item.trim())
}

function addMissing(target: Headers, headers: Readonly<Record<string, string>>): void {
  for (const name in headers) if (!target.has(name)) target.set(name, headers[name] ?? '')
}
