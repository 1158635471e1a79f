/** Names of files that hold secrets as a rule. Reading one is said in the assessment; policy decides. Pure. */

const NAMES: readonly RegExp[] = [
  /^\.env(\..+)?$/,
  /\.env$/,
  /\.(pem|key|p12|pfx|jks|keystore|kdbx|asc|gpg)$/i,
  /^id_(rsa|dsa|ecdsa|ed25519)(\.|$)/,
  /^\.(netrc|npmrc|pypirc|pgpass|git-credentials|htpasswd)$/,
  /^_netrc$/,
  /^(credentials|secrets?)(\.(json|ya?ml|toml|ini|txt))?$/i,
  /^(shadow|gshadow|sudoers)$/,
  /^environ$/,
];
/** Shown to everybody on purpose. */
const HARMLESS = /^\.env\.(example|sample|template|dist|defaults?)$/;
const FOLDERS: ReadonlySet<string> = new Set([
  '.ssh',
  '.aws',
  '.gnupg',
  '.kube',
  '.docker',
  '.azure',
  '.gcloud',
]);

/** True when the path names a file that holds secrets as a rule. */
export function isSecretPath(path: string): boolean {
  const parts = path.split('/').filter((part) => part !== '');
  const name = parts.at(-1) ?? '';
  if (parts.some((part) => FOLDERS.has(part))) return true;
  return !HARMLESS.test(name) && NAMES.some((pattern) => pattern.test(name));
}

/** Files that steer the house or version control rather than the project: writing them reaches beyond the workspace. */
export function isSteeringPath(relative: string): boolean {
  return relative.split('/').some((part) => part === '.git' || part === '.interlock');
}
