/** A PNG of one red pixel. */
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='

/** A WAV header with no samples. */
export const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA='

export function text(value: string): { type: 'text'; text: string } {
  return { type: 'text', text: value }
}

export function textResult(value: string): { content: { type: 'text'; text: string }[] } {
  return { content: [text(value)] }
}
