/** True for a path that is one of a plugin's `claims`, or below one that ends with `/*`. */
export function claimed(claims: readonly string[], path: string): boolean {
  return claims.some(claim =>
    claim.endsWith('/*') ? path.startsWith(claim.slice(0, -1)) || path === claim.slice(0, -2) : path === claim,
  )
}
