/** The library of passkeys. It takes 300 ms and 21 MB, so it is loaded at the first use. */
export async function loadLibrary() {
  const [main, helpers] = await Promise.all([
    import('@simplewebauthn/server'),
    import('@simplewebauthn/server/helpers'),
  ])
  return { ...main, decodeAttestationObject: helpers.decodeAttestationObject }
}
