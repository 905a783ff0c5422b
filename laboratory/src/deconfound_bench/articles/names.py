"""Invented proper names: people, places, firms and newspapers, put together from parts."""

from __future__ import annotations

from dataclasses import dataclass

from deconfound.demo.text_sampling import TextSampler
from deconfound_bench.articles.grammar import listing

WOMEN = listing("""
    Ada, Agnes, Aisha, Alice, Alma, Amara, Amelia, Anita, Anneke, Astrid, Beatrice, Bethan, Bridget, Carmen,
    Caroline, Catrin, Chiara, Chloe, Clara, Daphne, Deborah, Diana, Dorothy, Edith, Elena, Eleanor, Elif, Elsa,
    Emilia, Esther, Eva, Fatima, Fiona, Freya, Gabriela, Gemma, Gloria, Grace, Greta, Hana, Harriet, Hazel, Heidi,
    Helen, Hilda, Ifeoma, Ines, Ingrid, Irene, Isabel, Jana, Janet, Jasmine, Joan, Johanna, Josephine, Judith,
    Julia, Karin, Katya, Kirsten, Laila, Laura, Leila, Lena, Lorna, Louise, Lucia, Lydia, Mabel, Magda, Marguerite,
    Maria, Marian, Martha, Maud, Maya, Meera, Mei, Mercy, Mina, Miriam, Monica, Nadia, Naomi, Natalia, Nia, Nora,
    Olga, Olive, Pamela, Paula, Petra, Philippa, Priya, Rachel, Rania, Rebecca, Renata, Rhona, Rosa, Rosalind, Ruth,
    Sabine, Salma, Sandra, Saskia, Shirin, Sigrid, Silvia, Simone, Sofia, Stella, Susan, Sylvie, Tamsin, Tara,
    Teresa, Thea, Uma, Ursula, Valerie, Vera, Wanda, Wilma, Yara, Yasmin, Yoko, Yvonne, Zainab, Zofia
""")
MEN = listing("""
    Aaron, Abdul, Adam, Adrian, Alan, Albert, Aldo, Alistair, Amir, Anders, Andrei, Angus, Anton, Arjun, Arthur,
    Axel, Barnaby, Ben, Bernard, Bjorn, Bruno, Callum, Carlos, Cedric, Chen, Christopher, Clement, Colin, Connor,
    Cyril, Damian, Daniel, Darius, David, Declan, Dennis, Diego, Dmitri, Duncan, Edgar, Edmund, Edward, Emil, Eric,
    Ernest, Esteban, Ewan, Fabian, Farid, Felix, Fergus, Francis, Frank, Gareth, Gavin, Geoffrey, Gerald, Gordon,
    Graham, Gustav, Hamish, Hans, Harold, Hassan, Henrik, Henry, Hugo, Ian, Ibrahim, Igor, Ivan, Jack, Jacob, Jamal,
    Jan, Jasper, Jerome, Joel, Jonas, Joseph, Julian, Karl, Keith, Kenji, Kofi, Lars, Laurence, Leo, Leonard, Lewis,
    Luca, Magnus, Malcolm, Marcus, Mario, Martin, Mateo, Matthew, Milan, Mohan, Nathan, Neil, Niall, Nigel, Nils,
    Noel, Olaf, Oliver, Omar, Oscar, Owen, Pablo, Patrick, Paul, Pedro, Percy, Peter, Philip, Rafael, Ralph, Rashid,
    Raymond, Reuben, Roger, Roland, Rory, Rupert, Samir, Sanjay, Sebastian, Sergei, Simon, Stefan, Stuart, Sunil,
    Tariq, Terence, Theo, Thomas, Tobias, Tomas, Tunde, Victor, Vikram, Walter, Wilfred, Yusuf, Zoltan
""")
SURNAMES = listing("""
    Abara, Adeyemi, Ahlberg, Akhtar, Almeida, Andrade, Anand, Arslan, Asante, Bakshi, Banerjee, Bauer, Becker,
    Benali, Bergman, Bianchi, Boateng, Borg, Brandt, Bukowski, Cabrera, Campos, Castellano, Chaudhry, Chowdhury,
    Conti, Cruz, Dahl, Danso, Delgado, Demir, Desai, Diallo, Dimitrov, Dubois, Duarte, Eriksen, Esposito, Farouk,
    Fernandes, Fischer, Fonseca, Fontaine, Fujita, Gallo, Garnier, Georgiou, Ghosh, Gomes, Greco, Gupta, Haddad,
    Hagen, Hakimi, Hansen, Hashimoto, Herrera, Hoffmann, Horvath, Hussain, Ibrahimi, Ionescu, Ishikawa, Ivanova,
    Iyer, Jansen, Joshi, Kamara, Kapoor, Karlsson, Kaya, Keita, Khalil, Kimura, Kovac, Kowalczyk, Kruger, Kumar,
    Lambert, Larsen, Laurent, Lehmann, Leroy, Lindqvist, Lombardi, Lund, Machado, Malik, Mancini, Marino, Markovic,
    Mbeki, Mehta, Mendes, Mensah, Meyer, Moreau, Morel, Mukherjee, Murad, Nair, Nakamura, Navarro, Nkosi, Nowak,
    Nyberg, Obi, Odhiambo, Okafor, Okoye, Olsen, Ortega, Osman, Ozturk, Pacheco, Papadakis, Park, Patel, Pavlov,
    Pereira, Petrov, Popescu, Qureshi, Rahman, Ramos, Rao, Reyes, Ribeiro, Ricci, Richter, Rinaldi, Romano, Rossi,
    Saito, Salazar, Salonen, Santos, Sato, Schmidt, Schneider, Sharma, Silva, Simonsen, Singh, Soares, Sorensen,
    Sousa, Steiner, Suzuki, Szabo, Takeda, Tanaka, Tavares, Thapa, Toledo, Toure, Valente, Varga, Vasquez, Vega,
    Verma, Vogel, Wagner, Wang, Weiss, Winkler, Wong, Yamamoto, Yilmaz, Zhang, Ziegler
""")
NAME_STARTS = listing("""
    Ack, Alder, Apple, Ash, Bad, Bar, Beck, Ben, Black, Bland, Bol, Brad, Bran, Brock, Burn, Cal, Carl, Chad, Clay,
    Cob, Col, Cran, Cress, Crom, Dal, Dar, Den, Dray, Dun, Ead, East, El, Fair, Far, Fen, Fin, Fox, Frod, Gar, Gil,
    Glan, Green, Had, Hal, Ham, Har, Haw, Hazel, Hed, Hen, Hol, Hors, Hunt, Kel, Ken, Kirk, Lam, Lang, Led, Lind,
    Lock, Mal, Mar, Mel, Mid, Mil, Nor, Oak, Old, Pem, Pen, Pick, Quar, Rad, Raven, Red, Rock, Rother, Sand, Sel,
    Shel, Sil, Stan, Stock, Strat, Sut, Tel, Thorn, Tod, Twy, Ul, Wake, Wal, War, Wel, West, Whit, Wid, Win, Wol,
    Wood, Wyn, Yar
""")
NAME_ENDS = listing("""
    acre, bank, beck, bourne, bridge, brook, burn, bury, by, combe, cott, croft, dale, den, field, ford, gate,
    grave, ham, hurst, land, leigh, ley, lock, low, man, mere, more, ridge, shaw, side, stead, stone, stow, thorpe,
    ton, tree, ward, water, well, wick, wood, worth
""")
BRAND_STARTS = listing("""
    Aldra, Belvo, Brint, Calder, Cendri, Corvan, Dalmo, Drelli, Elvar, Fenno, Ferro, Galdi, Hestra, Ilmar, Jorda,
    Kestra, Lumbra, Marvo, Melto, Norvi, Ombra, Ostrel, Pelva, Prando, Quelli, Ravo, Sarto, Sorva, Stelvo, Tarnu,
    Tessel, Trovi, Ulvo, Vantra, Velmo, Vesca, Wendra, Xandri, Yarvo, Zelmi
""")
BRAND_ENDS = listing("""
    bix, co, dex, dyne, fal, gon, lan, lux, mar, met, nar, nova, pax, quin, rex, sol, tek, tor, via, wyn, zen
""")
SAINTS = listing("""
    Aldhelm, Bride, Chad, Cuthbert, Edmund, Hilda, Jude, Luke, Mildred, Olaf, Oswald, Piran, Swithun, Ursula
""")
ROADS = listing("Street, Street, Road, Road, Lane, Avenue, Hill, Row, Terrace, Way, Gardens, Crescent")
ROAD_NAMES = listing("""
    Abbey, Bell, Bridge, Canal, Castle, Chapel, Church, Cross, Dock, Elm, Factory, Ferry, Foundry, Granary, Harbour,
    High, King, Lower, Market, Mill, Orchard, Park, Priory, Quay, Queen, Ropewalk, Sheep, Station, Tanner, Tower,
    Union, Vicarage, Water, Weaver
""")
PAPERS = listing("""
    Courier, Echo, Chronicle, Gazette, Herald, Examiner, Post, Mercury, Observer, Advertiser, Times, Argus,
    Standard, Dispatch, Bulletin
""")


@dataclass(frozen=True, slots=True)
class Person:
    """Someone in the news."""

    first: str
    last: str
    woman: bool


def surname(dice: TextSampler) -> str:
    """Make up a family name, every second one from parts."""
    if dice.chance(0.45):
        return dice.pick(SURNAMES)
    made = dice.pick(NAME_STARTS) + dice.pick(NAME_ENDS)
    return f"{made}-{dice.pick(NAME_STARTS)}{dice.pick(NAME_ENDS)}" if dice.chance(0.03) else made


def person(dice: TextSampler) -> Person:
    """Make up a person; a few go by an initial too."""
    woman = dice.chance(0.5)
    first = dice.pick(WOMEN if woman else MEN)
    middle = f" {dice.pick('ABCDEGHJLMPRST')}." if dice.chance(0.06) else ""
    return Person(first + middle, surname(dice), woman)


def town(dice: TextSampler) -> str:
    """Make up a place; the commonest parts give the commonest names."""
    made = dice.pick(NAME_STARTS) + dice.pick(NAME_ENDS)
    roll = dice.roll()
    if roll < 0.08:
        return f"{dice.pick(('North', 'South', 'Great', 'Little', 'Upper', 'Lower', 'New'))} {made}"
    if roll < 0.13:
        return f"{made}-{dice.pick(('on-Sea', 'under-Hill', 'by-the-Water', 'in-the-Vale'))}"
    return f"St. {dice.pick(SAINTS)}s" if roll < 0.15 else made


def region(dice: TextSampler) -> str:
    """Make up a county or province."""
    made = dice.pick(NAME_STARTS) + dice.pick(("shire", "mark", "land", "moor", "dale", "more", "folk", "ria"))
    return f"{dice.pick(('East', 'West', 'North', 'Mid'))} {made}" if dice.chance(0.2) else made


def brand(dice: TextSampler) -> str:
    """Make up a word that only a company would be called."""
    return dice.pick(BRAND_STARTS) + dice.pick(BRAND_ENDS)


def firm(dice: TextSampler) -> str:
    """Make up a company; some carry the full stop that misleads sentence splitters."""
    roll = dice.roll()
    if roll < 0.3:
        return f"{surname(dice)} & {dice.pick(('Sons', 'Co.', surname(dice), surname(dice)))}"
    if roll < 0.55:
        return f"{brand(dice)} {dice.pick(('Ltd.', 'Inc.', 'Group', 'Partners', 'Holdings'))}"
    if roll < 0.8:
        return f"{surname(dice)} {dice.pick(('Partners', 'Brothers', 'Associates', 'Foods', 'Works', 'Capital'))}"
    return brand(dice)


def street(dice: TextSampler) -> str:
    """Make up a street."""
    return f"{dice.pick(ROAD_NAMES) if dice.chance(0.6) else surname(dice)} {dice.pick(ROADS)}"


def outlet(dice: TextSampler) -> str:
    """Make up a newspaper."""
    return f"the {town(dice)} {dice.pick(PAPERS)}"
